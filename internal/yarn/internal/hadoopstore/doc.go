// Package hadoopstore reads and writes the state that Hadoop's own ResourceManager keeps over restarts. The state is in
// ZooKeeper (ZKRMStateStore: nodes.go), or in files (FileSystemRMStateStore: read.go, write.go): a folder of small
// files, whose content is protocol buffers and Java's Writables.
//
//	FSRMStateRoot/RMVersionNode                                            version of the store, 1.3
//	FSRMStateRoot/EpochNode                                                epoch of the next life
//	FSRMStateRoot/RMAppRoot/application_1_0001/application_1_0001          an application
//	FSRMStateRoot/RMAppRoot/application_1_0001/appattempt_1_0001_000001    one of its attempts
//	FSRMStateRoot/AMRMTokenSecretManagerRoot/AMRMTokenSecretManagerNode    keys of ApplicationMasters' tokens
//	FSRMStateRoot/RMDTSecretManagerRoot/DelegationKey_7                    a key of delegation tokens
//	FSRMStateRoot/RMDTSecretManagerRoot/RMDelegationToken_3                a delegation token
//	FSRMStateRoot/RMDTSecretManagerRoot/RMDTSequenceNumber_3               the last token's number: an empty file
//
// Hadoop replaces a file by NAME.new, and writes a new one as NAME.tmp first; checksums are in .NAME.crc where the file
// system is a local one. Source: FileSystemRMStateStore and yarn_server_resourcemanager_recovery.proto of Hadoop 3.4.2.
package hadoopstore
