# Bars of tokens a second, a group a batch and context; over a bar its speedup over computing the norms.
eval(frame)
left = 84; right = 14; top = 50; bottom = 6 + 11 * caption_lines; between = 62
cell_w = width - left - right
cell_h = (height - top - bottom - between * columns) / columns
# The way's own colour as in every figure; in black and white the bars are told apart by how dark they are.
bar(s) = series > 1 ? (s - 1.0) / (series - 1) : 0      # 0 for the first of a group, 1 for the last
wide = 0.84 / series
shift(s) = (s - (series + 1) / 2.0) * wide
most = 0
do for [c=1:columns] { if (category_count[c] > most) { most = category_count[c] } }
array over_y[columns * most * series]
array over_text[columns * most * series]
spot(c, k, s) = ((c - 1) * most + k - 1) * series + s
do for [i=1:columns * most * series] { over_text[i] = "" }
do for [c=1:columns] {
    do for [s in drawn(c, 2)] {
        do for [k=1:category_count[c]] {
            stats $lines index set_of(c, 2, at(s)) using ($1 == k ? $2 : NaN):(1) nooutput
            if (STATS_records > 0) {
                over_text[spot(c, k, at(s))] = sprintf("%.2f×", STATS_mean_x)
                stats $lines index set_of(c, 1, at(s)) using ($1 == k ? $4 : NaN):(1) nooutput
                over_y[spot(c, k, at(s))] = STATS_max_x
            }
        }
    }
}
set boxwidth 0.93 * wide
set multiplot
do for [c=1:columns] {
    set lmargin at screen pixel_x(left)
    set rmargin at screen pixel_x(left + cell_w)
    set tmargin at screen pixel_y(top + 16 + (c - 1) * (cell_h + between))
    set bmargin at screen pixel_y(top + 16 + (c - 1) * (cell_h + between) + cell_h)
    set xrange [0.4:category_count[c] + 0.6]
    set yrange [0:*]
    set offsets 0, 0, graph 0.08, 0
    set xtics ("" -1) nomirror scale 0 font ",9"
    set format y "%.0f" # "4k" would name two ticks alike
    do for [k=1:category_count[c]] { set xtics add (category[category_first[c] + k] k) }
    set label 4 "tokens/s" @y_label
    set label 3 column_name[c] at graph 0, graph 1.0 offset 0,0.7 left font ",9"
    do for [i=10:10 + most * series] { unset label i }
    do for [s in drawn(c, 2)] {
        do for [k=1:category_count[c]] {
            if (strlen(over_text[spot(c, k, at(s))]) > 0) {
                set label 10 + (k - 1) * series + at(s) over_text[spot(c, k, at(s))] \
                    at first k + shift(at(s)), first over_y[spot(c, k, at(s))] \
                    offset 0,0.5 center font ",8" front
            }
        }
    }
    if (c == 1) {
        set key at screen 0.5, screen pixel_y(26) center top horizontal maxrows 1 samplen 1.6 width 1 \
            font ",10"
    } else { unset key }
    plot for [s in drawn(c, 1)] $lines index set_of(c, 1, at(s)) using ($1 + shift(at(s))):2 with boxes \
             fc rgb colour(at(s)) fs solid 0.8 - 0.55 * bar(at(s)) border lc rgb "#333333" dt solid lw 1 title series_name[at(s)], \
         for [s in drawn(c, 1)] $lines index set_of(c, 1, at(s)) using ($1 + shift(at(s))):3:(0):($4 - $3) \
             with vectors nohead lc rgb "#000000" lw 1.2 dt solid notitle
    print say_axes(c, 1)
    unset label 1
    unset label 2
}
unset multiplot
