# What all figures share: colours that colour-blind readers tell apart (Okabe and Ito), one a variant in every figure,
# each with a dash pattern and a point of its own, so that black and white will do.
set encoding utf8
set termoption noenhanced
set linetype 1 lc rgb "#000000" lw 1.7 dt solid       pt 7  # baseline
set linetype 2 lc rgb "#0072b2" lw 1.7 dt (14,4)      pt 5  # internal
set linetype 3 lc rgb "#56b4e9" lw 1.7 dt (10,3,2,3)  pt 4  # internal+aux
set linetype 4 lc rgb "#d55e00" lw 1.7 dt (5,3)       pt 9  # all
set linetype 5 lc rgb "#e69f00" lw 1.7 dt (2,2)       pt 8  # all+aux
set linetype 6 lc rgb "#009e73" lw 1.7 dt (16,3,2,3,2,3) pt 13 # any other
set linetype 7 lc rgb "#cc79a7" lw 1.7 dt (8,6)       pt 12
set linetype 8 lc rgb "#999999" lw 1.7 dt (3,6)       pt 6
set linetype cycle 8

hue(k) = word("#000000 #0072b2 #56b4e9 #d55e00 #e69f00 #009e73 #cc79a7 #999999", k)
# A figure never has two lines of one style: the program deals them out (series_style), and has no more than there are.
style(s) = series_style[s]
colour(s) = hue(style(s))

# The data set of a line in $lines and $values, and its points.
set_of(c, r, s) = ((c - 1) * rows + r - 1) * series + s - 1
has(c, r, s) = r <= rows && points[set_of(c, r, s) + 1] > 0
from_(c, r, s) = s > series ? "" : (has(c, r, s) ? sprintf("%d ", s) : "") . from_(c, r, s + 1)
drawn(c, r) = from_(c, r, 1)                       # the series that have a line there, as words
at(s) = strlen(s) ? s + 0 : 1                       # one of those words as a number; gnuplot also tries the empty word

set border 3 lc rgb "#555555" lw 0.8
set tics nomirror out scale 0.6 textcolor rgb "#333333"
set grid ytics lc rgb "#e4e4e4" lw 0.6 dt solid
set style fill noborder
pixel_x(x) = x / (1.0 * width)                     # pixels from the left, and from the top, to the screen's fractions
pixel_y(y) = 1 - y / (1.0 * height)

# A canvas of its own for what stands around the panels: title at the top, small print at the bottom.
frame = 'set label 1 title_text at screen pixel_x(10), screen pixel_y(16) left font ",13" front;' . \
        'set label 2 caption at screen pixel_x(10), screen pixel_y(height - 12 - 11 * (caption_lines - 1)) left ' . \
        'font ",8" textcolor rgb "#555555" front'
key_more = 13 * (key_rows - 2)                     # pixels of a key of more than two rows
# The key has a plot of its own across the canvas, since it would have to fit a panel's width otherwise.
before_key = 'set lmargin at screen pixel_x(20); set rmargin at screen pixel_x(width - 20); ' . \
             'set tmargin at screen pixel_y(24); set bmargin at screen pixel_y(58 + key_more); ' . \
             'unset border; unset tics; unset grid; ' . \
             'set key at screen 0.5, screen pixel_y(27) center top horizontal maxcols key_columns samplen 2.6 ' . \
             'spacing 1.1 width 1 font ",10"; set xrange [0:1]; set yrange [0:1]'
after_key = 'unset key; unset label 1; unset label 2; set border 3 lc rgb "#555555" lw 0.8; ' . \
            'set xtics nomirror out scale 0.6 textcolor rgb "#333333"; ' . \
            'set ytics nomirror out scale 0.6 textcolor rgb "#333333"; ' . \
            'set grid ytics lc rgb "#e4e4e4" lw 0.6 dt solid; set autoscale xy'
cell(c, r) = (c - 1) * rows + r                    # of lowest and highest
# The label of a panel's y axis, always at the same distance: set label 4 @y_label before the plot.
y_label = 'at screen pixel_x(12), graph 0.5 center rotate by 90'
# What this panel's axes hold, for the program to check that no value lies outside.
say_axes(c, r) = sprintf("axes %d %d %.17g %.17g %.17g %.17g", c, r, GPVAL_X_MIN, GPVAL_X_MAX, GPVAL_Y_MIN, GPVAL_Y_MAX)
