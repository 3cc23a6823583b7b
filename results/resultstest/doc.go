// Package resultstest makes small campaigns for the tests of the rooms below results.
package resultstest
