! SPDX-License-Identifier: GPL-3.0-or-later
! As var_c.c, of Fortran: modules, derived types, common blocks, arrays with bounds of their own.
module data
  implicit none
  type point
    real(8) :: x, y
  end type point
  type body
    integer :: id
    type(point) :: at
    real(8) :: v(3)
  end type body
  type(body), volatile :: bodies(0:9)
  real(8), volatile :: grid(-2:2, 4)
end module data

subroutine shared(n)
  implicit none
  integer, intent(in) :: n
  integer, volatile :: a(7)
  real(8), volatile :: b
  integer(2), volatile :: s(5)
  complex(8) :: unused(2)
  real(4), volatile :: r
  common /block/ a, b, s, unused, r
  integer :: i
  do i = 1, n
    a(mod(i, 7) + 1) = i
    b = i
    s(mod(i, 5) + 1) = int(i, 2)
    r = i
  end do
end subroutine shared

program variables
  use data
  implicit none
  integer :: i, j
  do i = 0, 9
    bodies(i)%id = i
    bodies(i)%at%y = i
    bodies(i)%v(mod(i, 3) + 1) = i
  end do
  do j = 1, 4
    do i = -2, 2
      grid(i, j) = i * j
    end do
  end do
  call shared(20)
  print '(a,a,i0)', 'data::bodies[].id', achar(9), 10
  print '(a,a,i0)', 'data::bodies[].at.y', achar(9), 10
  print '(a,a,i0)', 'data::bodies[].v[]', achar(9), 10
  print '(a,a,i0)', 'data::grid[][]', achar(9), 20
  print '(a,a,i0)', '/block/ a[]', achar(9), 20
  print '(a,a,i0)', '/block/ b', achar(9), 20
  print '(a,a,i0)', '/block/ s[]', achar(9), 20
  print '(a,a,i0)', '/block/ r', achar(9), 20
end program variables
