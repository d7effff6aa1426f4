package yarn

import (
	"net/http"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
)

// The exceptions that peers act on, by class.
const (
	classAccess        = "org.apache.hadoop.security.AccessControlException"
	classAuthorization = "org.apache.hadoop.security.authorize.AuthorizationException"
	classInvalidToken  = "org.apache.hadoop.security.token.SecretManager$InvalidToken"
	classAppNotFound   = yarnException + "ApplicationNotFoundException"
	// MapReduce's ApplicationMaster ends itself
	classAttemptNotFound  = yarnException + "ApplicationAttemptNotFoundException"
	classNotRegistered    = yarnException + "ApplicationMasterNotRegisteredException"
	classInvalidMaster    = yarnException + "InvalidApplicationMasterRequestException"
	classInvalidResource  = yarnException + "InvalidResourceRequestException"
	classInvalidLabel     = yarnException + "InvalidLabelResourceRequestException" // MapReduce kills the job
	classInvalidBlacklist = yarnException + "InvalidResourceBlacklistRequestException"
	classInvalidRelease   = yarnException + "InvalidContainerReleaseException"
	classNoContainer      = yarnException + "ContainerNotFoundException"
	classNotEnabled       = yarnException + "YARNFeatureNotEnabledException" // distributed shell goes on without
	classYARN             = yarnException + "YarnException"
	yarnException         = "org.apache.hadoop.yarn.exceptions."
)

// notSupported refuses what this ResourceManager does not do.
func notSupported(what string) error { return rpc.Errorf(classYARN, "%s: not supported", what) }

// A restError is why a request cannot be served.
type restError struct {
	status  int
	class   string // of Hadoop's exception, without its package
	message string
}

func (e *restError) Error() string { return e.message }

// badRequest refuses what a request says.
func badRequest(message string) error {
	return &restError{http.StatusBadRequest, "BadRequestException", message}
}

// notFound says that a request names what is not there.
func notFound(message string) error {
	return &restError{http.StatusNotFound, "NotFoundException", message}
}

// forbidden refuses what a user may not do.
func forbidden(message string) error {
	return &restError{http.StatusForbidden, "ForbiddenException", message}
}
