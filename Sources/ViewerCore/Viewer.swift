import Archive
package import Catalog
package import Library
package import Messaging
import Recordings

/// Settings of a viewer.
package struct ViewerSettings: Sendable {
    package var archive: ArchiveReference
    /// Location of the archive's catalog.
    package var catalog = CatalogReference.sqlite
    /// A name or an address, without brackets.
    package var host: String
    /// 0: any that is free.
    package var port: UInt16
    /// The collector's feed endpoint; nil: the socket in the archive's directory. An archive in a bucket has none.
    package var feed: String?
    /// Keys of the feed's connection.
    package var feedSecurity = SocketSecurity.plain
    /// Directory of exports; nil: a temporary one.
    package var exports: String?
    /// Directory of saved walls; nil: walls cannot be saved.
    package var state: String?
    /// File of accounts; nil: no accounts.
    package var users: String?
    package var certificate: CertificateFiles?
    /// Host names of the viewer, besides its address and those in its certificate.
    package var hostNames: [String] = []
    /// A proxy terminates TLS.
    package var isBehindProxy = false
    /// Validity of addresses of the object store for direct downloads of media, seconds, 1 to 604,800; nil: the viewer sends
    /// all media itself.
    package var storeRedirectSeconds: Int?
    /// Origins whose pages may frame a live source (`/embed/SOURCE`): `https://HOST[:PORT]`.
    package var embedOrigins: [String] = []
    /// Address of the RTSP server; nil: disabled.
    package var rtsp: RTSPAddress?
    package var version = ""

    package init(archive: ArchiveReference, host: String, port: UInt16) {
        self.archive = archive
        self.host = host
        self.port = port
    }
}

/// Listening address of the RTSP server.
package struct RTSPAddress: Hashable, Sendable {
    /// A name or an address, without brackets.
    package var host: String
    /// 0: any free port.
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
