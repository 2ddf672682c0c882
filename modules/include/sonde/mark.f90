! SPDX-License-Identifier: MIT
!
! sonde/mark.f90 - the same as sonde/mark.h, for Fortran: a file to be compiled into the program.
!
!	use sonde_mark
!	call sonde_phase_begin("solve")
!	call sonde_counter("residual", r)
!	call sonde_phase_end("solve")
!
! Blanks at the end of a name are not part of it.  A program that is stripped of its symbols has no marks from here.
module sonde_mark
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: sonde_phase_begin, sonde_phase_end, sonde_counter

  abstract interface
    subroutine phase_mark(name, length) bind(C)
      import :: c_char, c_size_t
      character(kind=c_char), intent(in) :: name(*)
      integer(c_size_t), value :: length
    end subroutine
    subroutine value_mark(name, length, number) bind(C)
      import :: c_char, c_size_t, c_double
      character(kind=c_char), intent(in) :: name(*)
      integer(c_size_t), value :: length
      real(c_double), value :: number
    end subroutine
  end interface

contains

  subroutine sonde_phase_begin(name)
    character(len=*), intent(in) :: name
    procedure(phase_mark), pointer :: mark

    call c_f_procpointer(hidden(c_funloc(sonde_mark_begin)), mark)
    call mark(name, len_trim(name, c_size_t))
  end subroutine

  subroutine sonde_phase_end(name)
    character(len=*), intent(in) :: name
    procedure(phase_mark), pointer :: mark

    call c_f_procpointer(hidden(c_funloc(sonde_mark_end)), mark)
    call mark(name, len_trim(name, c_size_t))
  end subroutine

  subroutine sonde_counter(name, number)
    character(len=*), intent(in) :: name
    real(c_double), intent(in) :: number
    procedure(value_mark), pointer :: mark

    call c_f_procpointer(hidden(c_funloc(sonde_mark_value)), mark)
    call mark(name, len_trim(name, c_size_t), number)
  end subroutine

  ! The compiler does not know what is called, so the call is made.
  function hidden(place) result(same)
    type(c_funptr), intent(in) :: place
    type(c_funptr) :: same
    type(c_funptr), volatile :: kept

    kept = place
    same = kept
  end function

  ! What Sonde looks for.  They do something, and each something else, so that compilers keep three.

  subroutine sonde_mark_begin(name, length) bind(C, name="sonde_mark_begin")
    character(kind=c_char), intent(in) :: name(*)
    integer(c_size_t), value :: length
    character(kind=c_char), volatile :: unused

    if (length > 0) unused = name(1)
  end subroutine

  subroutine sonde_mark_end(name, length) bind(C, name="sonde_mark_end")
    character(kind=c_char), intent(in) :: name(*)
    integer(c_size_t), value :: length
    character(kind=c_char), volatile :: unused

    if (length > 1) unused = name(2)
  end subroutine

  subroutine sonde_mark_value(name, length, number) bind(C, name="sonde_mark_value")
    character(kind=c_char), intent(in) :: name(*)
    integer(c_size_t), value :: length
    real(c_double), value :: number
    character(kind=c_char), volatile :: unused
    real(c_double), volatile :: last

    if (length > 0) unused = name(1)
    last = number
  end subroutine
end module
