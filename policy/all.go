package policy

// All holds the policies of this package.
var All = Registry{
	"fair": {fairCard, newFair},
	"fifo": {fifoCard, newFIFO},
	"srpt": {srptCard, newSRPT},
}
