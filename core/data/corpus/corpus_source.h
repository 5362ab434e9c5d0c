/* The source tables of the built-in corpus, in the language of corpus_grammar.h. */
#ifndef TAPER_CORE_DATA_CORPUS_CORPUS_SOURCE_H
#define TAPER_CORE_DATA_CORPUS_CORPUS_SOURCE_H

extern const char *const corpus_words_names[]; /* lists */
extern const char *const corpus_words_people[];
extern const char *const corpus_words_things[];
extern const char *const corpus_words_food[];
extern const char *const corpus_words_nature[];
extern const char *const corpus_words_places[];
extern const char *const corpus_words_numbers[];
extern const char *const corpus_words_doing[];
extern const char *const corpus_synonyms[];
extern const char *const corpus_scenes[]; /* rules that many stories use, and "story" */
extern const char *const corpus_asides[];
extern const char *const corpus_plots_home[]; /* rules, one a plot */
extern const char *const corpus_plots_outdoors[];
extern const char *const corpus_plots_friends[];
extern const char *const corpus_plots_animals[];
extern const char *const corpus_plots_village[];
extern const char *const corpus_plots_journeys[];

#endif
