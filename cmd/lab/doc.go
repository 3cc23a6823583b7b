// Lab judges colltune: its simulated times by measured ones and by what papers claim, and its
// choice of trials by recorded times. It is for those who work on colltune, and no part of what
// they ship.
//
//	lab papers             fails where a verdict is worse than cmd/lab/papers.md's
//	lab papers --update    writes the page
//	lab papers --only gc3  the claims whose names begin so, without the page
//
//	lab accuracy                                         how far off simulated times are, by zone; fails
//	                                                     where the shipped intervals hold too few rows
//	lab accuracy --measured DIR                          whole files, where DIR has them
//	lab accuracy --measured DIR --manifest FILE --shipped    other files, against the shipped intervals
//	lab accuracy --measured DIR --update                 writes the rows, the intervals and the page
//
//	lab score times.csv                                  how far each strategy's winners are from the best
//	lab score --strategy model,random --noise 10% DIR    after how many trials a size
package main
