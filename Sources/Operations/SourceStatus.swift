/// The status of a source at one moment.
package struct SourceStatus: Hashable, Sendable {
    package var name: String
    /// The box's own name.
    package var agent = ""
    /// Product and version of its agent.
    package var software = ""
    package var isConnected = false
    /// Whether it is part of the session, and has not ended.
    package var isRecorded = false
    /// Whether its capture was stopped deliberately, so that nothing is due.
    package var isStopped = false
    /// The name of the collector that records it now, or `another collector` if the name is unknown. Nil: this one, or unknown.
    package var elsewhere: String?
    /// Pictures per second over the last interval.
    package var picturesPerSecond = 0.0
    /// Payload bits per second over the last interval.
    package var bitsPerSecond = 0.0
    /// Delay from capture to the collector, seconds; nil before the first sample, after the last, and while capture is
    /// stopped.
    package var lagSeconds: Double?
    package var counts = SourceCounts()
    /// Age of the oldest record that is not yet durable, without any progress since; 0: none.
    package var persistedAgeSeconds = 0.0
    /// Data that its agent keeps until the object store has it; nil: agents delete data that is durable here.
    package var unreleased: Unreleased?
    /// Its agent's last report; nil: none yet.
    package var report: Report?
    package var clock: Clock?

    package init(name: String) {
        self.name = name
    }

    /// Data that has arrived and is not in the object store.
    package struct Unreleased: Hashable, Sendable {
        /// Payload bytes.
        package var bytes: UInt64
        /// Age of the oldest since its arrival, seconds; 0: none.
        package var ageSeconds: Double

        package init(bytes: UInt64, ageSeconds: Double) {
            self.bytes = bytes
            self.ageSeconds = ageSeconds
        }
    }

    /// An agent's report.
    package struct Report: Hashable, Sendable {
        /// Bytes on the box that are not durable here.
        package var keptBytes: UInt64
        /// Since the agent started.
        package var lostSamples: UInt64
        /// Age of the report.
        package var ageSeconds: Double
        /// Peak level per channel since the previous report, dBFS.
        package var soundPeaks: [Double]
        /// The previous collector, and the reason of the move; empty: none since its start.
        package var moved = ""
        /// The tracks that are not captured at present, and the reason; empty: none, or unknown.
        package var trouble = ""
        /// Data that the box keeps for each of two collectors; empty: one copy is enough.
        package var owed: [Owed] = []

        package init(
            keptBytes: UInt64, lostSamples: UInt64, ageSeconds: Double, soundPeaks: [Double] = []
        ) {
            self.keptBytes = keptBytes
            self.lostSamples = lostSamples
            self.ageSeconds = ageSeconds
            self.soundPeaks = soundPeaks
        }
    }

    /// Records that a collector has to have and does not have on disk.
    package struct Owed: Hashable, Sendable, Codable {
        /// Its name; its endpoint if it has not announced one.
        package var collector: String
        package var records: Double
        package var bytes: Double

        package init(collector: String, records: Double, bytes: Double) {
            self.collector = collector
            self.records = records
            self.bytes = bytes
        }
    }

    /// The estimate of its box's clock, at the newest sample.
    package struct Clock: Hashable, Sendable {
        /// Collector − agent.
        package var offsetNanoseconds: Int64
        package var boundNanoseconds: UInt64
        package var skewPPB: Int64

        package init(offsetNanoseconds: Int64, boundNanoseconds: UInt64, skewPPB: Int64) {
            self.offsetNanoseconds = offsetNanoseconds
            self.boundNanoseconds = boundNanoseconds
            self.skewPPB = skewPPB
        }
    }
}
