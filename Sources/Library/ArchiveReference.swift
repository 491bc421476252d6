package import Archive
import ObjectStore
package import Recordings
package import Terminal
package import Threads

/// Location of an archive: a directory, a bucket, a directory with media in a bucket, or several of these that are read as one.
/// Caches are shared by everything that is read with it.
package struct ArchiveReference: Sendable {
    /// As it was given: a directory's path, or an address.
    package let text: String
    /// Nil: all of it is in the bucket.
    package let layout: ArchiveLayout?
    /// Nil: all of it is in the directory.
    package let bucket: ObjectSegmentStore?
    /// `https://HOST[:PORT]` of presigned URLs; nil if unknown, or without a bucket.
    package private(set) var storeOrigin: String?
    /// Minimum interval of complaints about an unavailable bucket, for all its readers.
    let interval = ComplaintInterval()
    /// Minimum interval of complaints about an unusable catalog, for all its readers.
    let catalogInterval = ComplaintInterval()
    /// Sessions whose files do not respond, for all readers of the archive.
    package let patience: SessionPatience
    /// Ends all reading; nil: never.
    let shutdown: Shutdown?
    /// The archives that are read as one; empty: it is one.
    package private(set) var members: [ArchiveReference] = []
    /// Whether archives that belong to it are left out, because they cannot be read from here.
    package var isPartial = false
    /// Cache for merging several archives.
    let merged = MergeMemory()

    /// An archive in a directory.
    package init(directory: String) {
        self.init(directory: directory, bucket: nil, patience: SessionPatience(), shutdown: nil)
    }

    private init(
        directory: String, bucket: ObjectSegmentStore?, patience: SessionPatience,
        shutdown: Shutdown?
    ) {
        text = directory
        layout = ArchiveLayout(root: directory)
        self.bucket = bucket
        self.patience = patience
        self.shutdown = shutdown
    }

    /// An archive in a bucket.
    package init(bucket: ObjectSegmentStore) {
        text = bucket.name
        layout = nil
        self.bucket = bucket
        patience = SessionPatience()
        shutdown = nil
    }

    /// No recordings: of a site none of whose archives can be read from here.
    /// - Parameter name: the site, in messages.
    package init(nothingOf name: String) {
        self.init(bucket: ObjectSegmentStore(EmptyBucket(name: name), cacheBytes: 0))
        isPartial = true
    }

    /// An archive in a directory from which media has moved.
    package init(directory: String, bucket: ObjectSegmentStore) {
        self.init(
            directory: directory, bucket: bucket, patience: SessionPatience(), shutdown: nil)
    }

    /// Several archives that are read as one, in the order in which they were given.
    package init(_ members: [ArchiveReference]) {
        precondition(members.count > 1)
        text = members.map(\.text).joined(separator: ", ")
        layout = nil
        bucket = nil
        // A session is waited for once, whatever archives have it.
        patience = members[0].patience
        shutdown = members[0].shutdown
        self.members = members
    }

    /// The directory with a collector's feed; of several archives, the first one with a feed.
    package var feedLayout: ArchiveLayout? {
        let layouts = members.compactMap(\.layout)
        return layout ?? layouts.first { FileSystem.exists($0.feed) } ?? layouts.first
    }

    /// Parses `--archive`, which is repeatable, and the options of the store.
    /// - Parameters:
    ///   - archives: at least one.
    ///   - cacheBytes: size of the block cache for buckets.
    ///   - patience: timeout for files of one session if several sessions are read.
    ///   - shutdown: ends waits for a bucket, and all reading.
    ///   - complain: receives messages about incomplete listings of a bucket.
    package init(
        _ archives: [String], _ options: StoreOptions, cacheBytes: Int,
        patience: SessionPatience = SessionPatience(), shutdown: Shutdown,
        complain: @escaping @Sendable (String) -> Void
    ) throws {
        guard archives.count > 1 else {
            try self.init(
                archives.first ?? ".", options, cacheBytes: cacheBytes, patience: patience,
                shutdown: shutdown, complain: complain)
            return
        }
        try Self.check(archives, options)
        let buckets = archives.count(where: StoreAddress.isAddress)
        var members: [ArchiveReference] = []
        for archive in archives {
            if StoreAddress.isAddress(archive) {
                members.append(
                    try ArchiveReference(
                        archive, options, cacheBytes: cacheBytes / max(1, buckets),
                        patience: patience, shutdown: shutdown, complain: complain))
            } else {
                members.append(
                    ArchiveReference(
                        directory: archive, bucket: nil, patience: patience, shutdown: shutdown))
            }
        }
        self.init(members)
    }

    /// Checks several archives.
    package static func check(_ archives: [String], _ options: StoreOptions) throws(UsageError) {
        try check(archives)
        if archives.count > 1, options.store != nil {
            throw UsageError(
                "--store belongs to one directory: with several archives, give its \(StoreAddress.form) as another --archive"
            )
        }
    }

    /// Checks that several archives are not too many, and that none is given twice.
    package static func check(_ archives: [String]) throws(UsageError) {
        guard archives.count > 1 else { return }
        if archives.count > maximumMembers {
            throw UsageError(
                "--archive is given \(archives.count) times: at most \(maximumMembers) archives are read as one"
            )
        }
        var seen: [String: String] = [:]
        for archive in archives {
            let place: String
            if StoreAddress.isAddress(archive) {
                // A prefix means the same with a slash at its end.
                place = String(archive.reversed().drop { $0 == "/" }.reversed())
            } else {
                place = NamedPath.identity(archive)
            }
            if let other = seen.updateValue(archive, forKey: place) {
                throw UsageError(
                    other == archive
                        ? "--archive \(archive) is given twice: leave one out"
                        : "--archive \(archive) and --archive \(other) are the same archive: leave one out"
                )
            }
        }
    }

    /// A site has a few collectors.
    static let maximumMembers = 32

    /// Parses `--archive` and the options of the store.
    /// - Parameters:
    ///   - cacheBytes: size of the block cache for a bucket.
    ///   - patience: timeout for files of one session if several sessions are read.
    ///   - shutdown: ends waits for a bucket, and all reading.
    ///   - complain: receives messages about incomplete listings of a bucket.
    package init(
        _ archive: String, _ options: StoreOptions, cacheBytes: Int,
        patience: SessionPatience = SessionPatience(), shutdown: Shutdown,
        complain: @escaping @Sendable (String) -> Void
    ) throws {
        let isBucket = StoreAddress.isAddress(archive)
        if isBucket, options.store != nil {
            throw UsageError(
                "--archive is in an object store already: leave --store out, or give a directory in --archive"
            )
        }
        guard isBucket || options.store != nil else {
            if options.storeEndpoint != nil || options.storeRegion != nil {
                throw StoreOptions.missing(
                    "--store-endpoint and --store-region need an object store", isReading: true)
            }
            self.init(directory: archive, bucket: nil, patience: patience, shutdown: shutdown)
            return
        }
        let address = try options.address(
            options.store ?? archive, option: isBucket ? "--archive" : "--store")
        let store: ObjectSegmentStore
        do throws(ObjectStoreError) {
            store = ObjectSegmentStore(
                try address.open(patience: .reading, shutdown: shutdown),
                cacheBytes: cacheBytes, complain: complain)
        } catch {
            throw Failure(error.message)
        }
        if isBucket {
            self.init(bucket: store)
        } else {
            self.init(directory: archive, bucket: store, patience: patience, shutdown: shutdown)
        }
        storeOrigin = address.origin
    }
}
