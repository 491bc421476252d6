package import ObjectStore
package import Threads
package import Uploading

/// The object store of a collector's archive.
package struct StoreSettings: Sendable {
    package var bucket: any ObjectBucket
    package var upload: UploadSettings
    /// Ends every wait for the bucket.
    package var shutdown: Shutdown

    package init(
        bucket: any ObjectBucket, upload: UploadSettings = UploadSettings(),
        shutdown: Shutdown = Shutdown()
    ) {
        self.bucket = bucket
        self.shutdown = shutdown
        self.upload = upload
    }
}
