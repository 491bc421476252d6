import ObjectStore

/// Lists objects with a prefix, page by page, while it makes progress: a faulty store's listing may be endless, or too slow
/// to ever end.
struct StoreListing {
    /// Objects of one listing: half a year of segments of ten minutes from sixteen sources, with their proofs.
    static let maximumObjects = 1_000_000
    /// Minimum time allowed for a listing.
    private static let leastNanoseconds: Int64 = 60_000_000_000
    /// Minimum objects per second of a longer listing. A store lists a page of a thousand in a fifth of a second.
    private static let slowestPerSecond: Int64 = 1_000

    private let place: UploadTarget
    private let prefix: String
    private let folders: Bool

    /// - Parameters:
    ///   - prefix: of the keys.
    ///   - folders: keys with a further `/` are counted as one folder each.
    init(of prefix: String, folders: Bool, in place: UploadTarget) {
        self.place = place
        self.prefix = prefix
        self.folders = folders
    }

    /// Calls a closure with each object, in the order of the keys.
    /// - Throws: ``UploadError/setAside(_:)`` where the listing has no end.
    func forEach(
        _ body: (ObjectPage.Entry) throws(UploadError) -> Void
    ) throws(UploadError) {
        var waited: Int64 = 0
        var count = 0
        var after: String?
        while true {
            try place.pass(.look)
            let asked = place.surroundings.now()
            let page = try place.store { [after] (bucket) throws(ObjectStoreError) in
                try bucket.list(prefix: prefix, after: after, folders: folders)
            }
            // Excludes the time for processing the objects.
            waited += place.surroundings.now() - asked
            for entry in page.entries { try body(entry) }
            count += page.entries.count
            guard page.isTruncated, let last = page.entries.last else { return }
            guard last.key != after, count <= Self.maximumObjects,
                waited <= Self.leastNanoseconds + Int64(count) * 1_000_000_000
                    / Self.slowestPerSecond
            else {
                throw .setAside(
                    "the listing of \(place.bucket.name)/\(prefix) has no end: \(count) objects in \(waited / 1_000_000_000) s"
                )
            }
            after = last.key
        }
    }

    /// All of them.
    func entries() throws(UploadError) -> [ObjectPage.Entry] {
        var entries: [ObjectPage.Entry] = []
        try forEach { entry throws(UploadError) in entries.append(entry) }
        return entries
    }
}
