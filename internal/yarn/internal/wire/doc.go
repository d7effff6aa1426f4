// Package wire has the messages of a ResourceManager's six protocols as plain structs. A file has the name of its
// protocol; change.go has the messages of the clients' protocol that change something. records.go, resource.go and
// submission.go have what protocols share.
//
// A message names its fields once, for both directions, with the numbers that they have and in the order in which
// Hadoop 3.4 writes them; what Java peers fail without is always written, as stock peers do. Messages that travel alone
// have Append and Decode too, which every message could have.
//
// Decoding keeps what is used and skips the rest, except in what is passed on to others (launch contexts, container
// statuses, utilization): that is kept as it came, unknown fields included. Decoded strings and bytes
// are copies unless a comment says that they are lent.
package wire

// The protocols, as Java names them.
const (
	ResourceTracker     = "org.apache.hadoop.yarn.server.api.ResourceTrackerPB"
	ApplicationMaster   = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"
	ApplicationClient   = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"
	Administration      = "org.apache.hadoop.yarn.server.api.ResourceManagerAdministrationProtocolPB"
	HighAvailability    = "org.apache.hadoop.ha.HAServiceProtocol"
	ContainerManagement = "org.apache.hadoop.yarn.api.ContainerManagementProtocolPB"
)

// Version is the release of Hadoop whose peer this project is.
const Version = "3.4.2"
