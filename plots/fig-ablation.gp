# The loss at the end against one key of the taper at a time: every seed a point, the line through their means.
eval(frame)
left = 62; right = 14; top = 62; bottom = 52 + 11 * caption_lines; between = 18
cell_w = (width - left - right - between * (columns - 1)) / columns
lowest = 1e300
highest = -1e300
do for [c=1:columns] {
    do for [r=1:rows] {
        do for [s in drawn(c, r)] {
            stats $lines index set_of(c, r, at(s)) using 3:4 nooutput
            if (STATS_min_x < lowest) { lowest = STATS_min_x }
            if (STATS_max_y > highest) { highest = STATS_max_y }
        }
    }
}
room = highest > lowest ? 0.06 * (highest - lowest) : 0.05
base_series = 0
do for [s=1:series] { if (series_name[s] eq "baseline") { base_series = s } }
set multiplot
do for [c=1:columns] {
    set lmargin at screen pixel_x(left + (c - 1) * (cell_w + between))
    set rmargin at screen pixel_x(left + (c - 1) * (cell_w + between) + cell_w)
    set tmargin at screen pixel_y(top)
    set bmargin at screen pixel_y(height - bottom)
    set xrange [0.5:category_count[c] + 0.5]
    set yrange [lowest - room:highest + room]
    unset xtics
    set xtics scale 0.5
    do for [k=1:category_count[c]] { set xtics add (category[category_first[c] + k] k) }
    set xlabel column_name[c] offset 0,0.5
    if (c == 1) { set ylabel "validation loss, nats" offset 1,0; set format y "%g" } else { unset ylabel; set format y "" }
    if (c == 1) {
        set key at screen 0.5, screen pixel_y(27) center top horizontal maxrows 2 samplen 2.6 spacing 1.1 width 1 font ",10"
    } else { unset key }
    plot for [s in drawn(c, 2)] $lines index set_of(c, 2, at(s)) using 1:3:4 with filledcurves fc rgb "#000000" \
             fs transparent solid 0.10 noborder notitle, \
         for [s in drawn(c, 2)] $lines index set_of(c, 2, at(s)) using 1:2 with lines lt 1 title "baseline", \
         for [s in drawn(c, 1)] $values index set_of(c, 1, at(s)) using 1:2 with points lc rgb colour(at(s)) pt 6 ps 0.7 notitle, \
         for [s in drawn(c, 1)] $lines index set_of(c, 1, at(s)) using 1:2 with linespoints lt style(at(s)) ps 0.9 \
             title series_name[at(s)]
    print say_axes(c, 1)
    unset label 1
    unset label 2
}
unset multiplot
