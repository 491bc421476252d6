import Archive
package import Catalog
import ObjectStore
import Recordings
import Terminal
package import Threads

/// Where the archives of a site can be read from here, by what its collectors have reported.
package struct SiteArchives: Hashable, Sendable {
    package enum Place: Hashable, Sendable {
        /// A directory of this machine, from which media may have moved into a bucket.
        case directory(String, bucket: String?)
        case bucket(String)
    }

    package private(set) var places: [Place] = []
    /// One line for each archive that cannot be read from here.
    package private(set) var problems: [String] = []

    /// - Parameters:
    ///   - endpoint: of the store that is asked; nil: Amazon's. A report does not choose the host that gets signed requests.
    ///   - identity: of the archive in a directory of this machine; nil: there is none.
    package init(
        _ collectors: [SiteCollector], endpoint: String?, identity: (String) -> String?
    ) {
        for collector in collectors {
            guard let report = collector.report else {
                problems.append(
                    "\(collector.name): its report is of another version; its archive is left out")
                continue
            }
            let isReachable = report.storeEndpoint == endpoint
            if identity(report.archive) == collector.archive {
                places.append(
                    .directory(report.archive, bucket: isReachable ? report.store : nil))
                if let store = report.store, !isReachable {
                    problems.append(
                        "\(collector.name): what has moved into \(store) is left out: "
                            + Self.advice(report.storeEndpoint))
                }
            } else if let store = report.store {
                guard isReachable else {
                    problems.append(
                        "\(collector.name): its archive in \(store) is left out: "
                            + Self.advice(report.storeEndpoint))
                    continue
                }
                // Two collectors may upload into one bucket, which is read once.
                if !places.contains(.bucket(store)) { places.append(.bucket(store)) }
            } else {
                problems.append(
                    "\(collector.name): its archive is on \(report.machine) in \(report.archive), and in no object "
                        + "store; it is left out")
            }
        }
    }

    private static func advice(_ endpoint: String?) -> String {
        endpoint.map { "give --store-endpoint \($0)" } ?? "leave --store-endpoint out"
    }

    /// By the files of this machine.
    package init(_ collectors: [SiteCollector], endpoint: String?) {
        self.init(collectors, endpoint: endpoint) { path in
            do throws(ArchiveError) {
                return try ArchiveIdentity.read(ArchiveLayout(root: path))?.text
            } catch {
                // A directory that may not be read is not here.
                return nil
            }
        }
    }

    /// All of them as one archive.
    /// - Parameters:
    ///   - options: endpoint and region of the store.
    ///   - cacheBytes: kept in memory of files in buckets.
    ///   - shutdown: ends every wait for a bucket, and all reading.
    ///   - complain: receives a line for each archive that is left out.
    /// - Returns: nil: none can be read.
    package func reference(
        _ options: StoreOptions, cacheBytes: Int, shutdown: Shutdown,
        complain: @escaping @Sendable (String) -> Void
    ) throws -> ArchiveReference? {
        for problem in problems { complain(problem) }
        let patience = SessionPatience()
        var members: [ArchiveReference] = []
        for place in places {
            var options = options
            let archive: String
            switch place {
            case .directory(let path, let bucket):
                archive = path
                options.store = bucket
                if bucket == nil {
                    // They belong to buckets.
                    options.storeEndpoint = nil
                    options.storeRegion = nil
                }
            case .bucket(let bucket):
                archive = bucket
                options.store = nil
            }
            do {
                members.append(
                    try ArchiveReference(
                        archive, options, cacheBytes: cacheBytes / places.count,
                        patience: patience, shutdown: shutdown, complain: complain))
            } catch {
                complain("\(archive) is left out: \(error)")
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
