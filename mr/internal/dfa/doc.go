// Package dfa searches lines for a regular expression at the speed of a table look-up a byte.
//
// Syntax and meaning are those of package regexp (RE2; leftmost, preferring as Perl does), applied to one line at a
// time. Three parts, each usable alone:
//
//   - [Compile] turns an expression into two programs, forward and reversed, over classes of characters;
//   - a [Searcher] runs them as deterministic automata whose states are made when first needed (R. Cox, "Regular
//     Expression Matching in the Wild", 2010): forward to the match's end, back from there to its beginning;
//   - [Literals] finds strings such that every match contains one of them, and a [Finder] looks for such a string eight
//     bytes at a time.
//
// The alphabet is that of package regexp: characters, and U+FFFD for each byte that is not part of one. So a state's
// transitions are indexed by the class of the next character, ASCII by one look-up, others after decoding.
package dfa
