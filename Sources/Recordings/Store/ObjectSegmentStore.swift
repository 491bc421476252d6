package import Archive
import Glibc
import Media
package import ObjectStore
import Synchronization

/// The sessions of an archive in a bucket, or behind a viewer: `PREFIX/<session>/session.json` and so on, with the layout of a
/// directory.
///
/// Byte ranges are cached for the whole store. Listings are cached for some seconds; a session's objects are listed
/// together, which needs one request per thousand objects.
package final class ObjectSegmentStore: SegmentStore {
    /// Validity of a cached listing.
    private static let listingNanoseconds: Int64 = 10_000_000_000
    /// After a failed listing, the store is not queried for this time, so that readers of the directory do not wait repeatedly.
    private static let absenceNanoseconds: Int64 = 30_000_000_000
    /// Larger sessions are listed folder by folder.
    private static let maximumSessionPages = 20
    /// Limit of cached entries: some tens of megabytes.
    private static let maximumLines = 300_000
    /// Limit of entries in one listing: two sources for a year in segments of ten minutes, with proofs. Further entries are
    /// omitted.
    private static let maximumListedLines = 200_000
    /// A pebibyte: stores and file systems have smaller objects.
    private static let maximumObjectBytes: Int64 = 1 << 50
    /// Time limit of one listing; further entries are omitted.
    private static let longestListingNanoseconds: Int64 = 30_000_000_000

    private let bucket: RepeatingBucket
    private let cache: BlockCache
    private let monotonicNow: @Sendable () -> Int64
    private let complain: @Sendable (String) -> Void

    fileprivate struct Listing {
        var entries: [StoredEntry]
        /// ETags of its files, by name.
        var tags: [String: String]
        var readAt: Int64
    }

    private let lastFailure = Mutex<(error: ArchiveError, at: Int64)?>(nil)
    private let listings = Mutex<(folders: [StoredPath: Listing], lines: Int)>(([:], 0))
    let questions = StoreQuestions()

    /// - Parameters:
    ///   - cacheBytes: size of the block cache.
    ///   - monotonicNow: monotonic clock, nanoseconds.
    ///   - complain: receives messages about truncated listings.
    ///   - pause: sleeps before a retry.
    package init(
        _ bucket: any ReadableBucket, cacheBytes: Int,
        complain: @escaping @Sendable (String) -> Void = { _ in },
        monotonicNow: @escaping @Sendable () -> Int64 = { SystemClock.monotonic.nowNanoseconds },
        pause: (@Sendable (Int64) -> Void)? = nil
    ) {
        self.bucket =
            pause.map { RepeatingBucket(bucket, monotonicNow: monotonicNow, pause: $0) }
            ?? RepeatingBucket(bucket, monotonicNow: monotonicNow)
        self.complain = complain
        cache = BlockCache(capacityBytes: cacheBytes)
        self.monotonicNow = monotonicNow
    }

    package var name: String { bucket.bucket.name }

    package func path(_ file: StoredPath) -> String {
        file.text.isEmpty ? name : "\(name)/\(file)"
    }

    package func list(_ folder: StoredPath) throws(ArchiveError) -> [StoredEntry] {
        try listing(folder).entries
    }

    package func state(of folder: StoredPath) throws(ArchiveError) -> UInt64? {
        try listing(folder).state
    }

    /// The last listing, of any age.
    struct Remembered {
        var entries: [StoredEntry]
        var state: UInt64
        /// It is valid.
        var isFresh: Bool
    }

    func remembered(_ folder: StoredPath) -> Remembered? {
        let now = monotonicNow()
        return listings.withLock { $0.folders[folder] }.map {
            Remembered(
                entries: $0.entries, state: $0.state,
                isFresh: now - $0.readAt < Self.listingNanoseconds)
        }
    }

    package func open(_ file: StoredPath) throws(ArchiveError) -> any StoredFile {
        let (folder, name) = file.parts
        if let listing = known(folder) {
            guard let entry = listing.entries.first(where: { $0.name == name && !$0.isFolder }),
                let tag = listing.tags[name]
            else { throw .system(operation: "open", path: path(file), errno: ENOENT) }
            return try opened(file, entry.sizeBytes, tag)
        }
        let properties: ObjectProperties?
        do throws(ObjectStoreError) {
            properties = try bucket.properties(of: file.text)
        } catch {
            throw ArchiveError(error, "open", path(file))
        }
        guard let properties else {
            throw .system(operation: "open", path: path(file), errno: ENOENT)
        }
        return try opened(file, properties.sizeBytes, properties.tag)
    }

    /// - Throws: for a size that no file has, so that sums with it cannot overflow.
    private func opened(
        _ file: StoredPath, _ size: Int64, _ tag: String
    ) throws(ArchiveError) -> ObjectFile {
        guard size <= Self.maximumObjectBytes else {
            throw .malformed(path: path(file), reason: "is said to have \(size) bytes")
        }
        return ObjectFile(
            file.text, sizeBytes: size, tag: tag, path: path(file), bucket: bucket, cache: cache
        ) { [weak self] in self?.forget(file) }
    }

    package func put(_ bytes: [UInt8], at file: StoredPath) throws(ArchiveError) {
        do throws(ObjectStoreError) {
            _ = try writable().put(
                bytes, at: file.text, digest: ObjectDigest(sha256: Digest(of: bytes).bytes),
                condition: .none)
        } catch {
            throw ArchiveError(error, "write", path(file))
        }
        forget(file)
    }

    package func delete(_ file: StoredPath) throws(ArchiveError) {
        do throws(ObjectStoreError) {
            try writable().delete(file.text)
        } catch {
            throw ArchiveError(error, "remove", path(file))
        }
        forget(file)
    }

    private func writable() throws(ObjectStoreError) -> any ObjectBucket {
        guard let bucket = bucket.bucket as? any ObjectBucket else {
            throw ObjectStoreError(.refused, "\(name) is only read")
        }
        return bucket
    }

    /// Invalidates listings, because another program has changed the archive.
    package func forgetListings() { listings.withLock { $0 = ([:], 0) } }

    /// Invalidates listings after a change.
    private func forget(_ file: StoredPath) { forgetListings() }

    // MARK: - Listings

    private func known(_ folder: StoredPath) -> Listing? {
        let now = monotonicNow()
        return listings.withLock { listings in
            listings.folders[folder].flatMap {
                now - $0.readAt < Self.listingNanoseconds ? $0 : nil
            }
        }
    }

    private func listing(_ folder: StoredPath) throws(ArchiveError) -> Listing {
        if let known = known(folder) { return known }
        // Before the request, so that later changes are detected.
        let now = monotonicNow()
        if let last = lastFailure.withLock({ $0 }), now - last.at < Self.absenceNanoseconds {
            throw last.error
        }
        do throws(ObjectStoreError) {
            if folder.depth == 1, let found = try session(folder, now) { return found }
            return keep(try self.folder(folder, now), of: folder)
        } catch {
            let error = ArchiveError(error, "list", path(folder))
            if error.isForStore { lastFailure.withLock { $0 = (error, monotonicNow()) } }
            throw error
        }
    }

    private func keep(_ listing: Listing, of folder: StoredPath) -> Listing {
        listings.withLock { listings in
            let lines = 1 + listing.entries.count
            if listings.lines + lines > Self.maximumLines { listings = ([:], 0) }
            listings.lines += lines - (listings.folders[folder].map { 1 + $0.entries.count } ?? 0)
            listings.folders[folder] = listing
        }
        return listing
    }

    /// Entries of a folder.
    private func folder(
        _ folder: StoredPath, _ now: Int64
    ) throws(ObjectStoreError) -> Listing {
        let prefix = folder.text.isEmpty ? "" : "\(folder)/"
        var listing = Listing(entries: [], tags: [:], readAt: now)
        var after: String?
        while true {
            let page = try bucket.list(prefix: prefix, after: after, folders: true)
            for entry in page.entries {
                var name = entry.key.dropFirst(prefix.count)
                if entry.isFolder { name = name.dropLast() }
                listing.add(String(name), entry)
            }
            guard page.isTruncated, let last = page.entries.last else { break }
            after = last.key
            if listing.entries.count >= Self.maximumListedLines
                || monotonicNow() - now >= Self.longestListingNanoseconds
            {
                let line = "the listing of \(path(folder)) has no end"
                // Each session would need a request; real archives have fewer.
                guard folder.depth > 0 else {
                    throw ObjectStoreError(
                        .refused, "\(line): it has more than \(listing.entries.count) sessions")
                }
                complain("\(line): what is behind \(last.key) is left out")
                break
            }
        }
        listing.entries.sort { $0.name < $1.name }
        return listing
    }

    /// A session with its sources; nil if it has too many objects.
    private func session(
        _ session: StoredPath, _ now: Int64
    ) throws(ObjectStoreError) -> Listing? {
        let prefix = "\(session)/"
        var own = Listing(entries: [], tags: [:], readAt: now)
        var sources: [String: Listing] = [:]
        var after: String?
        for page in 1... {
            guard page <= Self.maximumSessionPages,
                monotonicNow() - now < Self.longestListingNanoseconds
            else { return nil }
            let found = try bucket.list(prefix: prefix, after: after, folders: false)
            for entry in found.entries {
                let parts = entry.key.dropFirst(prefix.count).split(
                    separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
                if parts.count == 1 {
                    own.add(String(parts[0]), entry)
                } else if parts.count == 2, StoredPath.isName(parts[0]) {
                    sources[String(parts[0]), default: Listing(entries: [], tags: [:], readAt: now)]
                        .add(String(parts[1]), entry)
                }
            }
            guard found.isTruncated, let last = found.entries.last else { break }
            after = last.key
        }
        for (source, listing) in sources {
            own.entries.append(StoredEntry(name: source, isFolder: true, sizeBytes: 0))
            _ = keep(listing, of: session / source)
        }
        own.entries.sort { $0.name < $1.name }
        return keep(own, of: session)
    }
}

extension ObjectSegmentStore.Listing {
    /// ``SegmentStore/state(of:)``.
    fileprivate var state: UInt64 {
        var sum: UInt64 = 0
        for entry in entries {
            var hasher = Hasher()
            hasher.combine(entry)
            hasher.combine(tags[entry.name])
            sum &+= UInt64(bitPattern: Int64(hasher.finalize()))
        }
        return sum
    }

    /// Adds an entry, unless its name cannot be a file's.
    fileprivate mutating func add(_ name: String, _ entry: ObjectPage.Entry) {
        guard StoredPath.isName(name[...]) else { return }
        entries.append(
            StoredEntry(
                name: name, isFolder: entry.isFolder, sizeBytes: entry.sizeBytes,
                modifiedNanoseconds: entry.modifiedNanoseconds))
        if !entry.isFolder { tags[name] = entry.tag }
    }
}
