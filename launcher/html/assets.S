/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The page as text: html_before, the data of a trace, html_after. */
	.section .rodata
	.globl html_before
	.hidden html_before
	.globl html_before_end
	.hidden html_before_end
	.globl html_after
	.hidden html_after
	.globl html_after_end
	.hidden html_after_end
html_before:
	.ascii "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	.ascii "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	/* nothing is loaded from anywhere, whatever a trace may hold */
	.ascii "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'\">\n"
	.ascii "<title>Sonde</title>\n<style>\n"
	.incbin "launcher/html/page.css"
	.incbin "launcher/html/page.html"
html_before_end:
html_after:
	.ascii "</script>\n<script>\n"
	.incbin "launcher/html/data.js"
	.incbin "launcher/html/timeline.js"
	.incbin "launcher/html/flame.js"
	.incbin "launcher/html/tables.js"
	.incbin "launcher/html/charts.js"
	.incbin "launcher/html/main.js"
	.ascii "</script>\n</body>\n</html>\n"
html_after_end:
	.section .note.GNU-stack, "", @progbits
