package import ObjectStore
import Recordings
import Terminal
package import Threads

extension StoreOptions {
    /// The bucket that the options name; nil: they name none. The one place where a client of a store is made for who writes to it.
    /// - Parameters:
    ///   - patience: how long it is waited for.
    ///   - shutdown: ends every wait for it.
    package func bucket(
        patience: StorePatience = .writing, shutdown: Shutdown
    ) throws -> (any ObjectBucket)? {
        guard let store else {
            guard storeEndpoint == nil, storeRegion == nil else {
                throw UsageError(
                    "--store-endpoint and --store-region need an object store: add --store s3://BUCKET/PREFIX"
                )
            }
            return nil
        }
        return try S3Bucket(address(store), patience: patience, shutdown: shutdown)
    }
}
