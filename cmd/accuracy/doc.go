// Accuracy compares simulated times with measured ones: it prints how far off they are,
// by zone, and how many rows lie inside their intervals when their data set is left out. It
// fails where the shipped intervals hold too few.
//
//	accuracy                                     the repository's rows
//	accuracy --measured DIR                      whole files, where DIR has them
//	accuracy --measured DIR --manifest FILE --shipped    other files, against the shipped intervals
//	accuracy --measured DIR --update             writes the rows, the intervals and the page
package main
