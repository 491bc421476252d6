import Archive
package import Catalog
package import Library
package import Messaging
import Recordings

/// Where and how a viewer answers.
package struct ViewerSettings: Sendable {
    package var archive: ArchiveReference
    /// Where the archive has its catalog.
    package var catalog = CatalogReference.sqlite
    /// A name or an address, without brackets.
    package var host: String
    /// 0: any that is free.
    package var port: UInt16
    /// Where a collector publishes what it takes in; nil: at its place in the archive's directory. An archive in a bucket has none.
    package var feed: String?
    /// With which keys the feed is received.
    package var feedSecurity = SocketSecurity.plain
    /// Where exports are made; nil: a directory of its own among the temporary files.
    package var exports: String?
    /// Where walls are kept that people save; nil: none can be saved.
    package var state: String?
    /// Who may look; nil: everybody who reaches it.
    package var users: String?
    package var certificate: CertificateFiles?
    /// Names under which it is reached, besides its address and those in its certificate.
    package var hostNames: [String] = []
    /// Answers come through a proxy that speaks TLS to browsers.
    package var isBehindProxy = false
    /// How long addresses of the object store are valid that media is fetched from directly, seconds, 1 to 604,800; nil: the viewer sends
    /// all media itself.
    package var storeRedirectSeconds: Int?
    /// Whose pages may frame a live source (`/embed/SOURCE`): `https://HOST[:PORT]`.
    package var embedOrigins: [String] = []
    /// Where players are answered over RTSP; nil: nowhere.
    package var rtsp: RTSPAddress?
    package var version = ""

    package init(archive: ArchiveReference, host: String, port: UInt16) {
        self.archive = archive
        self.host = host
        self.port = port
    }
}

/// Where RTSP is listened for.
package struct RTSPAddress: Hashable, Sendable {
    /// A name or an address, without brackets.
    package var host: String
    /// 0: any that is free.
    package var port: UInt16

    package init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }
}

/// A certificate with its chain and its key, PEM.
package struct CertificateFiles: Hashable, Sendable {
    package var chain: String
    package var key: String

    package init(chain: String, key: String) {
        self.chain = chain
        self.key = key
    }
}
