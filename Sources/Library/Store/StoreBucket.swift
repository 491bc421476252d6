package import ObjectStore
import Recordings
import Terminal
package import Threads

extension StoreOptions {
    /// The bucket of the options, for writing; nil if they name none.
    /// - Parameters:
    ///   - patience: timeout.
    ///   - shutdown: ends waits for it.
    package func bucket(
        patience: StorePatience = .writing, shutdown: Shutdown
    ) throws -> (any ObjectBucket)? {
        guard let store else {
            guard storeEndpoint == nil, storeRegion == nil else {
                throw Self.missing("--store-endpoint and --store-region need an object store")
            }
            return nil
        }
        return try address(store).open(patience: patience, shutdown: shutdown)
    }
}
