import Archive
import Wire

/// A session that is about to begin: its zero is known.
struct SessionBeginning: Sendable {
    var name: String
    var zeroUTC: UTCTime
    /// Zero on the collector's monotonic clock.
    var zeroNanoseconds: Int64
    /// The session of another collector that it continues.
    var offer: OfferedSession?
    /// See ``SessionManifest/attached``.
    var attached: [SessionManifest.Attachment]?

    init(name: String, zeroUTC: UTCTime, zeroNanoseconds: Int64) {
        self.name = name
        self.zeroUTC = zeroUTC
        self.zeroNanoseconds = zeroNanoseconds
    }

    init(_ offer: OfferedSession) {
        self.init(
            name: offer.clock.session,
            zeroUTC: UTCTime(nanoseconds: offer.clock.zeroUTCNanoseconds),
            zeroNanoseconds: offer.zeroNanoseconds)
        self.offer = offer
    }
}
