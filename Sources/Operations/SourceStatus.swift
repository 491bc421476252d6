/// How a source does at one moment. Counts are since the collector's start, through all its sessions, and only grow.
package struct SourceStatus: Hashable, Sendable {
    package var name: String
    /// The box's name, as it calls itself.
    package var agent = ""
    /// Product and version at the other end.
    package var software = ""
    package var isConnected = false
    /// It has a place in the session, and has not said goodbye.
    package var isRecorded = false
    /// Somebody has stopped its capture: nothing is due.
    package var isStopped = false
    /// Pictures per second over the last interval.
    package var picturesPerSecond = 0.0
    /// Payload bits per second over the last interval.
    package var bitsPerSecond = 0.0
    /// From capture to the collector, seconds; none before the first sample, after the last, and while the capture is stopped.
    package var lagSeconds: Double?
    /// Samples that are known to be missing from the session.
    package var lostSamples: UInt64 = 0

    package var pictures: UInt64 = 0
    package var soundPackets: UInt64 = 0
    package var receivedBytes: UInt64 = 0
    package var writtenBytes: UInt64 = 0
    /// How often it has come.
    package var connections: UInt64 = 0
    package var segmentsBegun: UInt64 = 0
    package var segmentsFinished: UInt64 = 0
    /// By cause, as ``causes`` names them.
    package var gaps: [String: Gaps] = [:]
    /// For how long something has been here that is not durable, and has not become so; 0: everything is.
    package var persistedAgeSeconds = 0.0
    /// What its agent has to keep until the object store has it; nil: agents forget what is durable here.
    package var unreleased: Unreleased?
    /// What its agent said last; nil: nothing yet.
    package var report: Report?
    package var clock: Clock?

    package init(name: String) {
        self.name = name
    }

    /// What is missing for one cause.
    package struct Gaps: Hashable, Sendable {
        package var count: UInt64 = 0
        /// As far as it is known how many they were.
        package var samples: UInt64 = 0

        package init(count: UInt64 = 0, samples: UInt64 = 0) {
            self.count = count
            self.samples = samples
        }
    }

    /// What has come and is not in the object store.
    package struct Unreleased: Hashable, Sendable {
        /// Payload.
        package var bytes: UInt64
        /// Of the oldest of it, since it came, seconds; 0: there is none.
        package var ageSeconds: Double

        package init(bytes: UInt64, ageSeconds: Double) {
            self.bytes = bytes
            self.ageSeconds = ageSeconds
        }
    }

    /// An agent's account of itself.
    package struct Report: Hashable, Sendable {
        /// Bytes on the box that are not durable here.
        package var keptBytes: UInt64
        /// Since the agent started.
        package var lostSamples: UInt64
        /// How long ago it said so.
        package var ageSeconds: Double
        /// The loudest of each channel since the report before, decibels of full scale.
        package var soundPeaks: [Double]

        package init(
            keptBytes: UInt64, lostSamples: UInt64, ageSeconds: Double, soundPeaks: [Double] = []
        ) {
            self.keptBytes = keptBytes
            self.lostSamples = lostSamples
            self.ageSeconds = ageSeconds
            self.soundPeaks = soundPeaks
        }
    }

    /// How its box's clock is taken to run, at the newest sample.
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
