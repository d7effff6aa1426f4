// Package workload says where jobs come from, and describes the cluster that they run on. It reads traces and histories
// of real clusters, and generates loads.
//
// Everything is a Source: jobs in order of submission, one at a time, so that ten million take the memory of ten. What
// a job asks for is its sched.JobSpec; what then really happens in its tasks, which no policy may know, is its Payload:
// a *Truth for the simulator, or a *Program for an engine that runs real jobs.
//
// README.md says what each format holds. The files, by what they are for:
//
//	jobs        truth.go, source.go; past.go (jobs of a record), master.go (ApplicationMasters)
//	reading     open.go finds the format and the reader; order.go sorts jobs; report.go says what was understood
//	formats     swim.go, rumen.go, sls.go, swf.go, sacct.go, jhist.go, jobtext.go, yarnapps.go, sparklog.go,
//	            clustertraces.go (Google, Alibaba), yamljobs.go; json.go, yaml.go and imported.go are parts of them
//	tasks       convert.go: how bytes become tasks
//	generating  generate.go, facebook.go, distribution.go, chance.go
//	writing     write.go, losses.go (what a format cannot hold), summary.go
//	clusters    cluster.go, yamlcluster.go; units.go (sizes, rates and times as text)
package workload
