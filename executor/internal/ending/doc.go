// Package ending says how long hosts and executors wait for each other to end. They are
// variables so that tests, on machines with much else to do, can wait longer.
package ending
