package import ArgumentParser
package import ObjectStore
import Recordings
package import Terminal

/// Options of the object store, for every program.
package struct StoreOptions: ParsableArguments {
    /// Form of an address, for help: `s3://bucket/prefix`.
    package static let form = StoreAddress.form.lowercased()
    /// Validity of addresses to which players and browsers are redirected.
    package static let redirectSeconds = 1...Int64(StoreAddress.maximumValiditySeconds)

    @Option(
        help: ArgumentHelp(
            """
            Object store of the archive. A collector uploads to it; what is not in the directory is read there. Credentials come from \
            \(StoreAddress.credentialsHelp).
            """, valueName: form))
    package var store: String?

    @Option(
        help: ArgumentHelp(
            "Address of the object store, such as https://store.example:9000. (default: Amazon's)",
            valueName: "url"))
    package var storeEndpoint: String?

    @Option(
        help: ArgumentHelp(
            "Region that requests to the object store are signed for. (default: us-east-1)",
            valueName: "name"))
    package var storeRegion: String?

    package init() {}

    package func validate() throws {
        do throws(UsageError) {
            if let storeEndpoint { _ = try endpoint(storeEndpoint) }
            if let store { _ = try address(store) }
        } catch {
            throw ValidationError("\(error)")
        }
    }

    /// The error of a missing address.
    /// - Parameters:
    ///   - need: `--keep-local needs an object store`.
    ///   - isReading: whether `--archive` may have the address, too.
    package static func missing(_ need: String, isReading: Bool = false) -> UsageError {
        let place = isReading ? ", or give it in --archive" : ""
        return UsageError("\(need): add --store \(StoreAddress.form)\(place)")
    }

    /// An address with the endpoint and the region of the options.
    /// - Parameters:
    ///   - text: `s3://BUCKET/PREFIX`.
    ///   - option: where it was given.
    package func address(
        _ text: String, option: String = "--store"
    ) throws(UsageError) -> StoreAddress {
        var endpoint: StoreEndpoint?
        if let storeEndpoint { endpoint = try self.endpoint(storeEndpoint) }
        do throws(StoreAddress.Flaw) {
            return try StoreAddress(text, endpoint: endpoint, region: storeRegion)
        } catch {
            throw UsageError("the address in \(option) \(error)")
        }
    }

    private func endpoint(_ text: String) throws(UsageError) -> StoreEndpoint {
        do throws(StoreEndpoint.Flaw) {
            return try StoreEndpoint(text)
        } catch {
            // The endpoint is not repeated: it may have a password.
            throw UsageError("the endpoint in --store-endpoint \(error)")
        }
    }
}
