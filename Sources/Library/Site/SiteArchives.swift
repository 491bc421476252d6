import Archive
package import Catalog
package import ObjectStore
import Recordings
import Terminal
package import Threads

/// Locations of a site's archives as seen from this machine, from its collectors' reports.
///
/// Defines the order: the archive's directory, if that is on this machine; else its object store; else its collector's viewer.
package struct SiteArchives: Hashable, Sendable {
    package enum Location: Hashable, Sendable {
        /// A directory of this machine, from which media may have moved into a bucket.
        case directory(String, bucket: String?)
        case bucket(String)
        /// Another machine's directory, behind its viewer.
        case viewer(ViewerAddress, archive: String, collector: String)
    }

    package private(set) var places: [Location] = []
    /// One line for each archive that cannot be read from here.
    package private(set) var problems: [String] = []

    /// - Parameters:
    ///   - endpoint: of the store that is asked; nil: Amazon's. A report does not choose the host that gets signed requests.
    ///   - readsViewers: whether there is a site's secret for requests to viewers.
    ///   - isForChanges: only where an archive can be changed: not in an object store, which its collector writes.
    ///   - identity: of the archive in a directory of this machine; nil: there is none.
    ///   - isForbidden: whether a directory of this machine may not be read by this user.
    package init(
        _ collectors: [SiteCollector], endpoint: String?, readsViewers: Bool = false,
        isForChanges: Bool = false, identity: (String) -> String? = Self.identity(of:),
        isForbidden: (String) -> Bool = { NamedPath.isForbidden(ArchiveLayout(root: $0).sessions) }
    ) {
        for collector in collectors {
            guard var report = collector.report else {
                problems.append(
                    "\(collector.name): its report is of another version; its archive is left out")
                continue
            }
            if isForChanges { report.store = nil }
            let isReachable = report.storeEndpoint == endpoint
            if identity(report.archive) == collector.archive {
                places.append(
                    .directory(report.archive, bucket: isReachable ? report.store : nil))
                if let store = report.store, !isReachable {
                    problems.append(
                        "\(collector.name): what has moved into \(store) is left out: "
                            + Self.advice(report.storeEndpoint))
                }
            } else if let store = report.store, isReachable {
                // Two collectors may upload into one bucket, which is read once.
                if !places.contains(.bucket(store)) { places.append(.bucket(store)) }
            } else if report.viewer == nil || !readsViewers, report.store == nil,
                isForbidden(report.archive)
            {
                problems.append(
                    "\(collector.name): the archive \(report.archive) may not be read: permission denied; it is left out: "
                        + "run this as a user with read access to it")
            } else {
                addViewer(
                    of: collector, report, readsViewers: readsViewers, isForChanges: isForChanges)
            }
        }
    }

    /// Adds the viewer of an archive that is neither on this machine nor in a store that can be read; without a viewer, adds
    /// the reason why the archive is left out.
    private mutating func addViewer(
        of collector: SiteCollector, _ report: SiteReport, readsViewers: Bool, isForChanges: Bool
    ) {
        let name = collector.name
        if let viewer = report.viewer, readsViewers {
            do throws(ViewerAddress.Flaw) {
                places.append(
                    .viewer(
                        try ViewerAddress(viewer), archive: collector.archive, collector: name))
                // The viewer only serves media on its disk.
                if let store = report.store {
                    problems.append(
                        "\(name): what has moved into \(store) is left out: "
                            + Self.advice(report.storeEndpoint))
                }
            } catch {
                problems.append(
                    "\(name): its archive is left out: the address of its viewer \(error)")
            }
        } else if let store = report.store {
            problems.append(
                "\(name): its archive in \(store) is left out: " + Self.advice(report.storeEndpoint)
            )
        } else if let viewer = report.viewer {
            problems.append(
                "\(name): its archive is on \(report.machine) in \(report.archive); it is left out: give "
                    + "--site-token-file to \(isForChanges ? "reach" : "read") it through \(viewer)"
            )
        } else if isForChanges {
            problems.append(
                "\(name): its archive is on \(report.machine) in \(report.archive); it is left out: start its collector "
                    + "with --viewer-url, so that it can be changed from here")
        } else {
            problems.append(
                "\(name): its archive is on \(report.machine) in \(report.archive), and in no object "
                    + "store; it is left out")
        }
    }

    private static func advice(_ endpoint: String?) -> String {
        endpoint.map { "give --store-endpoint \($0)" } ?? "leave --store-endpoint out"
    }

    /// The identity of the archive in a directory of this machine; nil: there is none.
    package static func identity(of path: String) -> String? {
        do throws(ArchiveError) {
            return try ArchiveIdentity.read(ArchiveLayout(root: path))?.text
        } catch {
            // An unreadable directory counts as absent.
            return nil
        }
    }

    /// All of them as one archive.
    /// - Parameters:
    ///   - options: endpoint and region of the store.
    ///   - site: access to viewers; nil: none.
    ///   - cacheBytes: kept in memory of files in buckets and behind viewers.
    ///   - shutdown: ends every wait for a bucket or a viewer, and all reading.
    ///   - complain: receives a line for each archive that is left out.
    /// - Returns: nil: none can be read.
    package func reference(
        _ options: StoreOptions, site: ViewerAccess?, cacheBytes: Int, shutdown: Shutdown,
        complain: @escaping @Sendable (String) -> Void
    ) throws -> ArchiveReference? {
        for problem in problems { complain(problem) }
        let patience = SessionPatience()
        var members: [ArchiveReference] = []
        for place in places {
            let cacheBytes = cacheBytes / places.count
            do {
                switch place {
                case .directory(let path, let bucket):
                    var options = options
                    options.store = bucket
                    if bucket == nil {
                        // Endpoint and region are for buckets only.
                        options.storeEndpoint = nil
                        options.storeRegion = nil
                    }
                    members.append(
                        try ArchiveReference(
                            path, options, cacheBytes: cacheBytes, patience: patience,
                            shutdown: shutdown, complain: complain))
                case .bucket(let bucket):
                    var options = options
                    options.store = nil
                    members.append(
                        try ArchiveReference(
                            bucket, options, cacheBytes: cacheBytes, patience: patience,
                            shutdown: shutdown, complain: complain))
                case .viewer(let address, let archive, let collector):
                    guard let site else { continue }
                    members.append(
                        ArchiveReference(
                            bucket: ObjectSegmentStore(
                                try site.bucket(
                                    address, archive: archive, collector: collector, shutdown),
                                cacheBytes: cacheBytes, complain: complain)))
                }
            } catch {
                complain("\(place) is left out: \(error)")
            }
        }
        guard members.count <= ArchiveReference.maximumMembers else {
            throw UsageError(
                "the site has \(members.count) archives: give at most \(ArchiveReference.maximumMembers) in --archive"
            )
        }
        var reference = members.count > 1 ? ArchiveReference(members) : members.first
        reference?.isPartial = members.count < places.count || !problems.isEmpty
        return reference
    }
}

extension SiteArchives.Location: CustomStringConvertible {
    /// As in messages.
    package var description: String {
        switch self {
        case .directory(let path, _): path
        case .bucket(let address): address
        case .viewer(let address, _, let collector): "\(address)/\(collector)"
        }
    }
}
