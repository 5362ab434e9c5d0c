/* The source tables of the built-in corpus, in the language of corpus_grammar.h. */
#ifndef TAPER_CORE_DATA_CORPUS_SOURCE_H
#define TAPER_CORE_DATA_CORPUS_SOURCE_H

extern const char *const corpus_words[];          /* lists */
extern const char *const corpus_synonyms[];
extern const char *const corpus_scenes[];         /* rules that many stories use, and "story" */
extern const char *const corpus_plots_home[];     /* rules, one a plot */
extern const char *const corpus_plots_outdoors[];
extern const char *const corpus_plots_friends[];
extern const char *const corpus_plots_animals[];

#endif
