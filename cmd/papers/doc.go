// Papers holds what the papers claim against the simulator, as docs/papers.md shows it.
//
//	papers             fails where a verdict is worse than the page's
//	papers --update    writes the page
//	papers --only gc3  the claims whose names begin so, without the page
package main
