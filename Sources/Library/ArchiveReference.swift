package import Archive
import ObjectStore
import Terminal
package import Threads

/// Where the recordings of an archive are: in a directory, in a bucket of an object store, or in a directory from which media has moved into
/// a bucket. What it keeps in memory of a bucket is shared by everything that is read with it.
package struct ArchiveReference: Sendable {
    /// As it was given: a directory's path, or an address.
    package let text: String
    /// Nil: all of it is in the bucket.
    package let layout: ArchiveLayout?
    /// Nil: all of it is in the directory.
    package let bucket: ObjectSegmentStore?
    /// `https://HOST[:PORT]` of what the bucket signs addresses for; nil: not known, or there is no bucket.
    package private(set) var storeOrigin: String?
    /// Whoever reads with it complains no more often of a bucket that is away.
    let interval = ComplaintInterval()
    /// The same of a catalog that cannot be used.
    let catalogInterval = ComplaintInterval()
    /// Sessions whose files do not answer: whoever reads with it knows of them.
    package let patience: SessionPatience
    /// Ends all reading; nil: nothing does.
    let shutdown: Shutdown?

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

    /// An archive in a directory from which media has moved.
    package init(directory: String, bucket: ObjectSegmentStore) {
        self.init(
            directory: directory, bucket: bucket, patience: SessionPatience(), shutdown: nil)
    }

    /// What `--archive` and the options of the store say.
    /// - Parameters:
    ///   - cacheBytes: what is kept in memory of files in a bucket.
    ///   - patience: how long a session's files are waited for where others are read as well.
    ///   - shutdown: ends every wait for a bucket, and all reading.
    ///   - complain: is told what was left out of a bucket's listings.
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
                throw UsageError(
                    "--store-endpoint and --store-region need an object store: add --store s3://BUCKET/PREFIX, or give it in --archive"
                )
            }
            self.init(directory: archive, bucket: nil, patience: patience, shutdown: shutdown)
            return
        }
        let address = try options.address(
            options.store ?? archive, option: isBucket ? "--archive" : "--store")
        let store: ObjectSegmentStore
        do throws(ObjectStoreError) {
            store = ObjectSegmentStore(
                try S3Bucket(address, patience: .reading, shutdown: shutdown),
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
