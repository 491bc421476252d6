import Accounts
import Archive
import Hummingbird
import Logging
import NIOCore

/// The state of a request while it is answered.
struct ViewerContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// The connection; of HTTP/2, the stream.
    let channel: any Channel
    /// IP address of the peer, without its port.
    var remoteAddress: String
    /// Set by ``AccessMiddleware``.
    var identity = Identity.anonymous
    var rights = Rights.nothing
    /// The session for ``Endpoints/latest`` in this request; nil if the path has another name.
    var latestSession: String?
    /// The credentials of the request.
    var credentials: Credentials

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
        remoteAddress = source.channel.remoteAddress?.ipAddress ?? "local"
        credentials = Credentials(remoteAddress: remoteAddress)
    }

    /// The owner under which the request's work is queued.
    var workOwner: WorkOwner { WorkOwner(identity, remoteAddress: remoteAddress) }

    /// A path component with the name of a session or a source.
    /// - Throws: 404 if the name is invalid.
    func name(_ parameter: String) throws(Problem) -> String {
        let text = parameters.get(parameter) ?? ""
        if parameter == "session", let latestSession { return latestSession }
        guard ArchiveLayout.isValidName(text) else {
            throw Problem(.notFound, "no \(parameter) of that name")
        }
        return text
    }

    /// The source in the path, which this user may look at.
    func source() throws(Problem) -> String {
        let name = try name("source")
        guard rights.mayRead(name) else { throw Problem(.notFound, "no source of that name") }
        return name
    }
}
