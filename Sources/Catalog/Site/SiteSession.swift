import Media

/// A session of a site: the row that its first collector inserted. Rows are inserted or read, and never updated.
package struct SiteSession: Hashable, Sendable {
    /// The session's number within the site. Of several rows with one number, the first one inserted is kept.
    package var number: Int64
    package var session: String
    /// Zero in file names: UTC, by the first collector's clock, nanoseconds since 1970.
    package var zeroUTCNanoseconds: Int64
    /// Maximum error of that clock.
    package var wallErrorNanoseconds: Int64
    package var segmentNanoseconds: Int64
    /// The name of the first collector, and the identity of its archive.
    package var collector: String
    package var archive: String
    /// Zero on the clock of the database's server.
    package var zero: ServerInstant

    package init(
        number: Int64, session: String, zeroUTCNanoseconds: Int64, wallErrorNanoseconds: Int64,
        segmentNanoseconds: Int64, collector: String, archive: String, zero: ServerInstant
    ) {
        self.number = number
        self.session = session
        self.zeroUTCNanoseconds = zeroUTCNanoseconds
        self.wallErrorNanoseconds = wallErrorNanoseconds
        self.segmentNanoseconds = segmentNanoseconds
        self.collector = collector
        self.archive = archive
        self.zero = zero
    }
}

/// An instant on the clock of a database's server, as a collector has measured it.
package struct ServerInstant: Hashable, Sendable, Codable {
    /// How much faster one clock may run than another.
    private static let driftPPM: Int64 = 200

    /// Nanoseconds since 1970 by the server's clock.
    package var nanoseconds: Int64
    package var errorNanoseconds: Int64
    /// The server's clock when that was measured: since then, the clocks may have drifted apart.
    package var measuredNanoseconds: Int64
    /// Start of the server: a standby that took over has another clock.
    package var server: Int64

    package init(
        nanoseconds: Int64, errorNanoseconds: Int64, measuredNanoseconds: Int64, server: Int64
    ) {
        self.nanoseconds = nanoseconds
        self.errorNanoseconds = errorNanoseconds
        self.measuredNanoseconds = measuredNanoseconds
        self.server = server
    }

    /// The error at a later reading of the server's clock; nil: it is another server's.
    package func error(at exchange: ServerExchange) -> Int64? {
        guard server == exchange.server else { return nil }
        let age = exchange.serverNanoseconds.clampedSubtracting(measuredNanoseconds).magnitude
        return errorNanoseconds.clampedAdding(Int64(clamping: age / 1_000_000) * Self.driftPPM)
    }
}

/// A reading of the server's clock between two readings of the collector's monotonic clock.
package struct ServerExchange: Hashable, Sendable {
    package var sentNanoseconds: Int64
    package var receivedNanoseconds: Int64
    package var serverNanoseconds: Int64
    package var server: Int64

    package init(
        sentNanoseconds: Int64, receivedNanoseconds: Int64, serverNanoseconds: Int64, server: Int64
    ) {
        self.sentNanoseconds = sentNanoseconds
        self.receivedNanoseconds = receivedNanoseconds
        self.serverNanoseconds = serverNanoseconds
        self.server = server
    }

    private var middleNanoseconds: Int64 {
        sentNanoseconds.clampedAdding(
            receivedNanoseconds.clampedSubtracting(sentNanoseconds) / 2)
    }

    /// The reading lies between the others.
    package var errorNanoseconds: Int64 {
        receivedNanoseconds.clampedSubtracting(sentNanoseconds) / 2 + 1_000
    }

    /// An instant of the collector's clock on the server's.
    package func instant(atMonotonic nanoseconds: Int64) -> ServerInstant {
        ServerInstant(
            nanoseconds: serverNanoseconds.clampedAdding(
                nanoseconds.clampedSubtracting(middleNanoseconds)),
            errorNanoseconds: errorNanoseconds, measuredNanoseconds: serverNanoseconds,
            server: server)
    }

    /// An instant of the server's clock on the collector's, with its error; nil: it is of another server's clock.
    package func monotonic(
        _ instant: ServerInstant
    ) -> (nanoseconds: Int64, errorNanoseconds: Int64)? {
        guard let error = instant.error(at: self) else { return nil }
        return (
            middleNanoseconds.clampedAdding(
                instant.nanoseconds.clampedSubtracting(serverNanoseconds)),
            error.clampedAdding(errorNanoseconds)
        )
    }
}
