// Package formulatest has formulas for tests. Only tests import it.
package formulatest
