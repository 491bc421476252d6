package import Archive
package import Catalog
package import Operations
package import Trust

/// Settings of a collector.
package struct CollectorSettings: Sendable {
    /// ZeroMQ endpoint to listen on, such as `tcp://127.0.0.1:5550`.
    package var endpoint: String
    /// The collector's name, which agents tell others and recordings contain; empty: none.
    package var name = ""
    /// Address of the program's HTTP server, for the other collectors of a site; nil: none.
    package var http: String?
    /// Where the other collectors of a site reach it, such as `tcp://server-a:5550`; nil: at ``endpoint``.
    package var address: String?
    /// Address of its viewer for readers on other machines; nil: none.
    package var viewer: String?
    /// The archive's directory; created if it does not exist.
    package var archive: String
    /// Length of a segment, nanoseconds.
    package var segmentNanoseconds: Int64
    package var startAt: SessionManifest.StartPolicy
    /// How long the choice of the session's zero waits for an earlier sample, nanoseconds.
    package var startWindowNanoseconds: Int64
    /// Whether the collector ends with the first session.
    package var endsWithSession: Bool
    /// Settings that may change while the collector runs.
    package var changeable: ChangeableSettings
    /// Storage of the archive's catalog.
    package var catalog = CatalogReference.own
    /// Object store for the archive, uploaded in the background; nil: none.
    package var store: StoreSettings?
    /// The store's endpoint, for the readers of a site; nil: Amazon's.
    package var storeEndpoint: String?
    /// When agents may delete records.
    package var release = ReleasePolicy.local
    /// Name and version, for peers and for `session.json`.
    package var software: String
    /// The version alone, for monitoring.
    package var version = ""
    /// Whether programs of the archive's group may stop sessions, command agents and change sessions.
    package var takesGroupCommands = false
    /// File to which everything received is written too; nil: none.
    package var wireRecording: String?
    /// The keys that agents must authenticate with; nil: no authentication.
    package var keys: LinkSecurity.Collector?
    /// The feed for viewers on other machines; nil: disabled.
    package var remoteFeed: RemoteFeed?

    /// The feed over TCP.
    package struct RemoteFeed: Sendable {
        /// ZeroMQ endpoint to listen on, such as `tcp://0.0.0.0:5560`.
        package var endpoint: String
        /// The keys that viewers must authenticate with; nil: no authentication.
        package var keys: LinkSecurity.Collector?

        package init(endpoint: String, keys: LinkSecurity.Collector?) {
            self.endpoint = endpoint
            self.keys = keys
        }
    }

    package init(
        endpoint: String, archive: String, segmentNanoseconds: Int64,
        startAt: SessionManifest.StartPolicy, startWindowNanoseconds: Int64,
        endsWithSession: Bool, changeable: ChangeableSettings, software: String
    ) {
        self.endpoint = endpoint
        self.archive = archive
        self.segmentNanoseconds = segmentNanoseconds
        self.startAt = startAt
        self.startWindowNanoseconds = startWindowNanoseconds
        self.endsWithSession = endsWithSession
        self.changeable = changeable
        self.software = software
    }
}

package struct ChangeableSettings: Hashable, Sendable {
    /// A session ends when no source has sent anything for this long, nanoseconds; 0: never.
    package var idleTimeoutNanoseconds: Int64
    /// Minimum free disk space, bytes: no media is written into it. None: 1 GB, or 5 % of a small disk.
    package var reserveBytes: UInt64?
    /// The archive's retention limits.
    package var retention: RemovalLimits
    /// Limits of the local copies that an object store has, besides ``retention``'s free space.
    package var localCache: RemovalLimits

    package init(
        idleTimeoutNanoseconds: Int64, reserveBytes: UInt64? = nil,
        retention: RemovalLimits = RemovalLimits(), localCache: RemovalLimits = RemovalLimits()
    ) {
        self.localCache = localCache
        self.idleTimeoutNanoseconds = idleTimeoutNanoseconds
        self.reserveBytes = reserveBytes
        self.retention = retention
    }
}

/// Why a collector cannot start.
package enum CollectorError: Error, Hashable, CustomStringConvertible {
    case cannotListen(endpoint: String, reason: String)
    case cannotPublish(endpoint: String, reason: String)
    /// No agent can be admitted.
    case cannotAdmit(reason: String)
    /// The authenticator has ended; every file is finished.
    case cannotAdmitAnyMore(reason: String)
    case cannotRecord(archive: String, reason: String)
    /// The control socket could not be created.
    case cannotControl(path: String, reason: String)
    /// Another collector records into the archive.
    case archiveInUse(archive: String)
    /// The file for everything received could not be created.
    case cannotRecordWire(path: String, reason: String)

    package var description: String {
        switch self {
        case .cannotListen(let endpoint, let reason):
            "cannot listen on \(endpoint): \(reason)"
        case .cannotPublish(let endpoint, let reason):
            "cannot publish the feed at \(endpoint): \(reason); choose another address with --feed"
        case .cannotAdmit(let reason):
            "cannot admit agents: \(reason)"
        case .cannotAdmitAnyMore(let reason):
            "ended, with every file finished, because no agent could be admitted any more: \(reason); start the collector "
                + "again"
        case .cannotRecord(let archive, let reason):
            "cannot record into \(archive): \(reason); choose another directory with --archive"
        case .cannotControl(let path, let reason):
            "cannot take commands at \(path): \(reason)"
        case .archiveInUse(let archive):
            "another collector is recording into \(archive): stop it, or choose another directory with "
                + "--archive"
        case .cannotRecordWire(let path, let reason):
            "cannot record the wire into \(path): \(reason); name a file that is not there yet"
        }
    }
}

/// Result of a collector's run.
package struct CollectorOutcome: Hashable, Sendable {
    /// Files that could not be completed, each with the reason.
    package var failures: [String]
    /// The cost of the run.
    package var cost = RecordingCost()
    /// Connections that were refused.
    package var refusals: [ConnectionRefusal: UInt64] = [:]
}
