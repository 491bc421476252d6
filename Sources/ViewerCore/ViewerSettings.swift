import Archive
package import Catalog
package import Library
package import Messaging
package import ObjectStore
import Recordings

/// Settings of a viewer.
package struct ViewerSettings: Sendable {
    package var archive: ArchiveReference
    /// The site whose catalog determines archives and feeds; nil: ``archive`` and ``feed`` do.
    package var site: SiteSettings?
    /// Location of the archive's catalog.
    package var catalog = CatalogReference.own
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
    /// Live sources that are forwarded to other servers; nil: none.
    package var forwarding: ForwardSettings?
    /// Tokens of the site's readers, to whom the archives on this machine's disk are served; nil: they are not served.
    package var siteTokens: SiteTokens?
    package var version = ""

    package init(archive: ArchiveReference, host: String, port: UInt16) {
        self.archive = archive
        self.host = host
        self.port = port
    }
}

extension ViewerSettings {
    /// Whether several collectors' feeds are heard.
    var hearsSeveral: Bool { site != nil || feedPlaces.count > 1 }

    /// The feeds to hear; of a site, those that its catalog names are heard instead.
    var feedPlaces: [FeedEndpoint] {
        guard site == nil else { return [] }
        if feed == nil, archive.members.count > 1 {
            return FeedEndpoint.places(of: archive.members)
        }
        let layout = archive.feedLayout
        return [
            FeedEndpoint(
                collector: "", endpoint: feed ?? layout.flatMap { FeedEndpoint.endpoint(in: $0) },
                security: feedSecurity, archive: archive.layout?.root)
        ]
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

/// The live sources that are forwarded, and the program that does it.
package struct ForwardSettings: Hashable, Sendable {
    package var entries: [ForwardEntry]
    package var program: ForwardProgram

    package init(entries: [ForwardEntry], program: ForwardProgram) {
        self.entries = entries
        self.program = program
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
