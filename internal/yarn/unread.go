package yarn

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// notes returns a line for each property that is meant for a ResourceManager and is not read here, unless it asks for
// what this ResourceManager does anyway.
func (p *properties) notes() (list []string) {
	for _, name := range slices.Sorted(maps.Keys(p.values)) {
		if p.used[name] {
			continue
		}
		one := p.values[name]
		one.value = strings.TrimSpace(one.value)
		switch listed, ok := listedAs(name); {
		case name == "yarn.resourcemanager.recovery.enabled" && p.yes(haPrefix+"enabled", false):
			// the state is in ZooKeeper
		case !ok && !forManager(name) || ok && (listed.value == anyValue || listed.value == one.value):
		case ok:
			list = append(list, fmt.Sprintf("%s: %s = %s: of no effect: %s", one.file, one.as,
				one.value, listed.reason))
		default:
			list = append(list, fmt.Sprintf("%s: %s = %s: not understood, and of no effect", one.file,
				one.as, one.value))
		}
	}
	return list
}

// capacityPrefix begins the Capacity Scheduler's properties.
const capacityPrefix = "yarn.scheduler.capacity."

// An unreadGroup is properties that begin with a prefix and are not read, whatever they say.
type unreadGroup struct{ prefix, reason string }

// unreadGroups are the properties of other programs, and the details of features that are turned on by a property in
// unreadProperties, unreadManager or unreadCapacity.
var unreadGroups = []unreadGroup{
	{"security.applicationhistory.", "for history servers"},
	{"yarn.app.", "for MapReduce"},
	{"yarn.application.", "for clients"},
	{"yarn.apps.cache.", "lists of applications are made in short turns, and not cached"},
	{"yarn.client.", "for clients"},
	{"yarn.dispatcher.", "threads of Hadoop's event queue"},
	{"yarn.federation.", "for federated clusters"},
	{"yarn.fs-store.", noLabels},
	{"yarn.intermediate-data-encryption.", "for NodeManagers"},
	{"yarn.ipc.", "classes of Hadoop's RPC"},
	{"yarn.is.minicluster", "for Hadoop's tests"},
	{"yarn.log-aggregation", "for NodeManagers and history servers"},
	{"yarn.log.server.", "for NodeManagers and history servers"},
	{"yarn.minicluster.", "for Hadoop's tests"},
	{"yarn.node-attribute.", noLabels},
	{"yarn.node-labels.", noLabels},
	{"yarn.nodemanager.", "for NodeManagers"},
	{"yarn.registry.", "for ApplicationMasters and the registry"},
	{"yarn.resourcemanager.activities-manager.", "activities are not kept: see sojourn record explain"},
	{"yarn.resourcemanager.application-tag-based-placement.", tagPlacement},
	{"yarn.resourcemanager.configuration.", localFiles},
	{"yarn.resourcemanager.connect.", "for NodeManagers and clients"},
	{"yarn.resourcemanager.delegation-token", noRenewal},
	{"yarn.resourcemanager.delayed.delegation-token.", noRenewal},
	{"yarn.resourcemanager.fs.state-store.", ourStore},
	{"yarn.resourcemanager.ha.", oneLock},
	{"yarn.resourcemanager.leveldb-state-store.", ourStore},
	{"yarn.resourcemanager.nm-container-queuing.", noOpportunistic},
	{"yarn.resourcemanager.node-labels.", noLabels},
	{"yarn.resourcemanager.nodemanagers.heartbeat-interval-", noScaling},
	{"yarn.resourcemanager.nodestore-rootdir.", noLabels},
	{"yarn.resourcemanager.opportunistic", noOpportunistic},
	{"yarn.resourcemanager.placement-constraints.", noConstraints},
	{"yarn.resourcemanager.reservation-system.", noReservations},
	{"yarn.resourcemanager.resource-profiles.", noProfiles},
	{"yarn.resourcemanager.scheduler.monitor.", takingBack},
	{"yarn.resourcemanager.state-store.", ourStore},
	{"yarn.resourcemanager.submission-preprocessor.", noPreprocessor},
	{"yarn.resourcemanager.system-metrics-publisher.", noTimeline},
	{"yarn.resourcemanager.webapp.rest-csrf.", noCSRF},
	{"yarn.resourcemanager.webapp.xfs-filter.", "pages never allow themselves in a frame"},
	{"yarn.resourcemanager.zk-", ourStore},
	{"yarn.rm.system-metrics-publisher.", noTimeline},
	{"yarn.router.", "for the router of federated clusters"},
	{"yarn.scheduler.configuration.", queueFile},
	{"yarn.sharedcache.", "for the shared cache"},
	{"yarn.timeline-service.", "for timeline servers and their clients"},
	{"yarn.web-proxy.", "for a proxy of its own"},
	{"yarn.webapp.ui", "Hadoop's pages are not served"},
	{"yarn.webapp.xfs-filter.", "pages never allow themselves in a frame"},
}

// forManager reports whether a property is meant for a ResourceManager, and in no group of unreadGroups.
func forManager(name string) bool {
	_, listed := groupOf(name)
	return strings.HasPrefix(name, "yarn.") && !listed
}

// groupOf returns the group of unreadGroups that a property is in.
func groupOf(name string) (unreadGroup, bool) {
	for _, one := range unreadGroups {
		if strings.HasPrefix(name, one.prefix) {
			return one, true
		}
	}
	return unreadGroup{}, false
}

// anyValue stands for every value of a property.
const anyValue = "*any*"

// An unreadProperty is a property that is not read. With this value it asks for what this ResourceManager does anyway,
// so notes has no line for it. The reason says, in the line for any other value, why that has no effect, or what to do
// instead.
type unreadProperty struct{ value, reason string }

// listedAs returns what is known of a property that is not read.
func listedAs(name string) (unreadProperty, bool) {
	if one, ok := unreadProperties[name]; ok {
		return one, true
	}
	if rest, ok := strings.CutPrefix(name, "yarn.resourcemanager."); ok {
		one, ok := unreadManager[rest]
		return one, ok
	}
	rest, ok := strings.CutPrefix(name, capacityPrefix)
	if !ok {
		return unreadProperty{}, false
	}
	if one, ok := unreadCapacity[rest]; ok {
		return one, true
	}
	one, ok := unreadCapacity["QUEUE."+rest[strings.LastIndexByte(rest, '.')+1:]]
	return one, ok
}

// Reasons that several properties share.
const (
	noLabels        = "there are no node labels and attributes, and requests for a label are refused"
	noConstraints   = "placement constraints are refused"
	noTimeline      = "nothing is published to a timeline service"
	noReservations  = "there are no reservations"
	noProfiles      = "there are no resource profiles, and clients are told so"
	noPreprocessor  = "submissions are taken as they are"
	noOpportunistic = "opportunistic containers are not offered"
	noJava          = "classes in Java are not run"
	noWebTokens     = "REST takes no delegation tokens: callers prove by SPNEGO who they are"
	noMasterTLS     = "ApplicationMasters get no certificates for their pages"
	noThreads       = "this process takes as many threads as it needs"
	noRenewal       = "tokens of file systems are not renewed"
	noCSRF          = "REST asks for no header against forged requests"
	noScaling       = "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms holds, whatever the load"
	oneLock         = "which of several ResourceManagers is active is decided by one lock in ZooKeeper"
	localFiles      = "files are read from the folder that --conf names"
	ourStore        = "state is kept in the folder that --state names, and rm take-over makes it of Hadoop's"
	ourRolling      = "all keys roll as yarn.resourcemanager.nm-tokens.master-key-rolling-interval-secs says"
	ourTokens       = "delegation tokens live a day, and up to a week when they are renewed"
	queueFile       = "queues change by their file and refreshQueues"
	lifetimeHint    = "say a lifetime when submitting, or with yarn application -updateLifetime"
	tagPlacement    = "a tag names a queue, not a user: sojourn.queue=NAME"
	takingBack      = "taking back is a parameter of the policy: --policy capacity:preempt=kill"
	atOnce          = "each timeout ends at its instant, and nothing looks at intervals"
	onBeat          = "containers are placed when something changes, not when nodes beat"
)

// unreadProperties are the unread properties outside the two prefixes below, by name.
var unreadProperties = map[string]unreadProperty{
	"yarn.acl.reservation-enable":           {"false", noReservations},
	"yarn.app.attempt.diagnostics.limit.kc": {"64", "diagnostics are cut at 64 KiB"},
	"yarn.fail-fast": {
		anyValue,
		"errors are logged, and a damaged store is set aside",
	},
	"yarn.federation.enabled":                      {"false", "this ResourceManager joins no federation"},
	"yarn.http.rmwebapp.custom.dao.classes":        {"", noJava},
	"yarn.http.rmwebapp.external.classes":          {"", noJava},
	"yarn.http.rmwebapp.scheduler.page.class":      {"", noJava},
	"yarn.node-labels.enabled":                     {"false", noLabels},
	"yarn.scheduler.app-placement-allocator.class": {"", noJava},
	"yarn.scheduler.configuration.store.class":     {"file", queueFile},
	"yarn.scheduler.include-port-in-node-name":     {"false", "hosts are named without ports"},
	"yarn.system-metrics-publisher.enabled":        {"false", noTimeline},
	"yarn.timeline-service.enabled":                {"false", noTimeline},
	"yarn.tracking.url.generator":                  {"", noJava},
	"yarn.web-proxy.address": {
		"",
		"this process is the proxy, on the port of its pages",
	},
	"yarn.webapp.api-service.enable":      {"false", "services are not started by REST"},
	"yarn.webapp.custom.webservice.class": {"", noJava},
	"yarn.webapp.enable-rest-app-submissions": {
		"true",
		"REST takes applications from all who may submit",
	},
	"yarn.workflow-id.tag-prefix": {anyValue, "priorities do not go by workflow"},

	"yarn.http.rmwebapp.custom.unwrapped.dao.classes": {"", noJava},
	"yarn.scheduler.queue-placement-rules": {
		"user-group", "yarn.scheduler.capacity.queue-mappings says where applications go"},
	"yarn.webapp.filter-entity-list-by-user": {
		"false", "lists name all applications, without what the caller may not see"},
	"yarn.webapp.filter-invalid-xml-chars": {
		anyValue,
		"characters that XML does not allow are always replaced",
	},
}

// unreadManager are the unread properties that begin with yarn.resourcemanager., by the rest of their names.
var unreadManager = map[string]unreadProperty{
	"admin.client.thread-count":                     {anyValue, noThreads},
	"am-rm-tokens.master-key-rolling-interval-secs": {"86400", ourRolling},
	"am.global.max-attempts": {
		"",
		"yarn.resourcemanager.am.max-attempts bounds attempts",
	},
	"amlauncher.thread-count":                  {anyValue, noThreads},
	"application-https.policy":                 {"NONE", noMasterTLS},
	"application-master-service.processors":    {"", noJava},
	"application-tag-based-placement.enable":   {"false", tagPlacement},
	"application-timeouts.monitor.interval-ms": {anyValue, atOnce},
	"application.max-tag.length":               {"100", "tags have up to 100 bytes"},
	"application.max-tags":                     {"10", "applications have up to 100 tags"},
	"client.thread-count":                      {anyValue, noThreads},
	"configuration.provider-class": {
		"org.apache.hadoop.yarn.LocalConfigurationProvider",
		localFiles,
	},
	"container-tokens.master-key-rolling-interval-secs": {"86400", ourRolling},
	"container.liveness-monitor.interval-ms":            {anyValue, atOnce},
	"decommissioning-nodes-watcher.poll-interval-secs":  {anyValue, atOnce},
	"delegation.key.update-interval":                    {"86400000", ourTokens},
	"delegation.token.max-lifetime":                     {"604800000", ourTokens},
	"delegation.token.remove-scan-interval":             {anyValue, atOnce},
	"delegation.token.renew-interval":                   {"86400000", ourTokens},
	"enable-node-untracked-without-include-path": {
		anyValue,
		"of nodes that left, the last 1,000 are remembered",
	},
	"epoch.range": {"0", "epochs count lives"},
	"fail-fast": {
		anyValue,
		"errors are logged, and a damaged store is set aside",
	},
	"history-writer.multi-threaded-dispatcher.pool-size": {anyValue, noThreads},
	"max-log-aggregation-diagnostics-in-memory":          {anyValue, "diagnostics of log aggregation are not kept"},
	"metrics.runtime.buckets":                            {anyValue, "metrics have buckets of their own"},
	"node-ip-cache.expiry-interval-secs": {
		anyValue,
		"addresses of hosts are looked up when their nodes register, and by -refreshNodes",
	},
	"node-removal-untracked.node-selective-states-to-remove": {
		anyValue, "of nodes that left, the last 1,000 are remembered"},
	"node-removal-untracked.timeout-ms": {
		anyValue,
		"of nodes that left, the last 1,000 are remembered",
	},
	"nodemanager-connect-retries":                    {"10", "launches are tried for three minutes"},
	"nodemanager.minimum.version":                    {"NONE", "NodeManagers of all versions are let in"},
	"nodemanagers.heartbeat-interval-scaling-enable": {"false", noScaling},
	"opportunistic-container-allocation.enabled":     {"false", noOpportunistic},
	"placement-constraints.handler":                  {"disabled", noConstraints},
	"proxy-user-privileges.enabled":                  {"false", noRenewal},
	"proxy.connection.timeout": {
		"60000",
		"pages of applications must begin within 30 s",
	},
	"proxy.timeout.enabled": {
		"true",
		"pages of applications must begin within 30 s",
	},
	"recovery.enabled":                     {"false", ourStore},
	"reservation-system.enable":            {"false", noReservations},
	"resource-profiles.enabled":            {"false", noProfiles},
	"resource-tracker.client.thread-count": {anyValue, noThreads},
	"resource-tracker.nm.ip-hostname-check": {
		"false",
		"NodeManagers whose names have no address are let in",
	},
	"scheduler.client.thread-count":               {anyValue, noThreads},
	"scheduler.monitor.enable":                    {"false", takingBack},
	"store.class":                                 {anyValue, ourStore},
	"submission-preprocessor.enabled":             {"false", noPreprocessor},
	"webapp.cross-origin.enabled":                 {"false", "answers allow no other origins"},
	"webapp.delegation-token-auth-filter.enabled": {anyValue, noWebTokens},
	"webapp.rest-csrf.enabled":                    {"false", noCSRF},
	"webapp.ui-actions.enabled": {
		"true",
		"REST changes applications for all who may change them",
	},
	"work-preserving-recovery.enabled": {
		"true",
		"containers always outlive a restart with --state",
	},
	"work-preserving-recovery.scheduling-wait-ms": {
		"10000",
		"containers are granted at once after a restart",
	},
}

// unreadCapacity are the unread properties that begin with capacityPrefix, by the rest of their names. QUEUE stands for
// the path of a queue.
var unreadCapacity = map[string]unreadProperty{
	"resource-calculator": {
		"org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
		"cores are counted as well as memory"},
	"per-node-heartbeat.multiple-assignments-enabled":  {anyValue, onBeat},
	"per-node-heartbeat.maximum-container-assignments": {anyValue, onBeat},
	"per-node-heartbeat.maximum-offswitch-assignments": {anyValue, onBeat},
	"schedule-asynchronously.enable":                   {anyValue, onBeat},
	"node-locality-delay": {
		"40",
		"waiting for a near node is in time here: --policy capacity:delay=5s",
	},
	"rack-locality-additional-delay": {
		"-1",
		"waiting for a near rack is in time here: --policy capacity:rack-delay=5s",
	},
	"queue-mappings-override.enable": {
		"false",
		"queues that applications name are never overridden",
	},
	"application.fail-fast":      {anyValue, "errors are logged"},
	"workflow-priority-mappings": {"", "priorities do not go by workflow"},
	"QUEUE.maximum-applications": {"10000", "yarn.scheduler.capacity.maximum-applications bounds those of all queues"},
	"QUEUE.minimum-user-limit-percent": {
		"100",
		"one limit serves all queues: --policy capacity:user-min=0.25",
	},
	"QUEUE.user-limit-factor": {
		"1",
		"one limit serves all queues: --policy capacity:user-factor=2",
	},
	"QUEUE.acl_application_max_priority": {"*", "priorities are not bounded by access lists"},
	"QUEUE.accessible-node-labels":       {"*", "there are no node labels"},
	"QUEUE.default-application-priority": {"0", "applications that name no priority have 0"},
	"QUEUE.maximum-application-lifetime": {"-1", lifetimeHint},
	"QUEUE.default-application-lifetime": {"-1", lifetimeHint},
	"QUEUE.priority":                     {"0", "queues have weights and guarantees, not priorities"},
}
