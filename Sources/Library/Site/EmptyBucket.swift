import ObjectStore

/// A bucket without objects.
struct EmptyBucket: ReadableBucket {
    let name: String

    func list(
        prefix: String, after: String?, folders: Bool
    ) throws(ObjectStoreError) -> ObjectPage { ObjectPage(entries: [], isTruncated: false) }

    func properties(of key: String) throws(ObjectStoreError) -> ObjectProperties? { nil }

    func read(
        _ key: String, range: Range<Int64>, tag: String?
    ) throws(ObjectStoreError) -> [UInt8] {
        throw ObjectStoreError(.gone, "\(name): cannot read \(key): it does not exist")
    }
}
