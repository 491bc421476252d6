import Archive
import ArgumentParser
import CollectorCore
import Library
import Recordings
import Terminal
import Threads
import Uploading

/// Options for the upload of the archive to an object store, and for its local copies.
struct UploadOptions: ParsableArguments {
    @OptionGroup var place: StoreOptions

    @Option(
        help: ArgumentHelp(
            "Maximum bytes per second that are uploaded, such as 10MB. (default: no limit)",
            valueName: "bytes"))
    var storeRate: ByteCount?

    @Option(
        help: """
            Media that is read back from the store before a segment counts as stored: nothing, one part of each segment where the \
            store tells no digests, or everything.
            """)
    var storeReadBack = UploadSettings.ReadBack.sample

    @Option(
        help: ArgumentHelp(
            """
            Keep local copies of segments that the store has for this long, or up to this size: the oldest are removed, and the \
            recordings stay in the archive. (default: all copies are kept)
            """, valueName: "time|bytes"))
    var keepLocal: LocalLimit?

    @Option(
        help: ArgumentHelp(
            """
            When agents may delete samples: local (durable on this disk), mirrored (durable on the disks of two collectors; agents \
            send to both, which takes twice the box's uplink) or stored (also in the object store, so that the loss of this machine \
            loses nothing; boxes keep a segment and the time of its upload). With stored and an empty archive, the collector \
            continues from the store.
            """, valueName: "policy"))
    var release = ReleasePolicy.local

    func validate() throws {
        if let storeRate, storeRate.bytes <= 0 {
            throw ValidationError(
                "--store-rate 0 would upload nothing: use at least 1kB, or leave it out")
        }
        guard place.store == nil else { return }
        for (option, isGiven) in [
            ("--keep-local", keepLocal != nil), ("--store-rate", storeRate != nil),
            ("--release stored", release.waitsForStore),
        ] where isGiven {
            throw ValidationError("\(StoreOptions.missing("\(option) needs an object store"))")
        }
    }

    /// The store; nil without one.
    func settings() throws -> StoreSettings? {
        let shutdown = Shutdown()
        guard let bucket = try place.bucket(shutdown: shutdown) else { return nil }
        var upload = UploadSettings()
        upload.bytesPerSecond = storeRate?.bytes
        upload.readBack = storeReadBack
        return StoreSettings(bucket: bucket, upload: upload, shutdown: shutdown)
    }

    var localCache: RemovalLimits { keepLocal?.limits ?? RemovalLimits() }
}

/// Limit of local media: by age, or by size.
struct LocalLimit: HintedArgument {
    let limits: RemovalLimits

    init?(argument: String) {
        if let age = Age(argument: argument), argument != "0" {
            limits = RemovalLimits(maximumAgeNanoseconds: age.span.nanoseconds)
        } else if let size = ByteCount(argument: argument) {
            limits = RemovalLimits(maximumBytes: UInt64(size.bytes))
        } else {
            return nil
        }
    }

    static var valueHint: String { "an age such as 24h, or a size such as 500GB" }
}

extension ReleasePolicy: ExpressibleByArgument {
    /// Values for the help.
    package static var allValueStrings: [String] { allCases.map(\.rawValue) }
}

extension UploadSettings.ReadBack: ExpressibleByArgument {
    /// Values for the help.
    package static var allValueStrings: [String] { allCases.map(\.rawValue) }
}
