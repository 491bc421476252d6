@testable import Operations

extension CollectorStatus {
    /// A status with a value for every metric.
    static var full: CollectorStatus {
        var source = SourceStatus(name: "stage")
        source.agent = "box7"
        source.software = "tributary-agent 0.1.0"
        source.isConnected = true
        source.isRecorded = true
        source.picturesPerSecond = 29.97
        source.bitsPerSecond = 4_100_000
        source.lagSeconds = 0.2
        source.counts.lostSamples = 7
        source.counts.pictures = 900
        source.counts.soundPackets = 1_400
        source.counts.receivedBytes = 15_000_000
        source.counts.writtenBytes = 14_900_000
        source.counts.connections = 2
        source.counts.segmentsBegun = 3
        source.counts.segmentsFinished = 2
        source.counts.gaps = ["driver_drop": .init(count: 1, samples: 7), "restart": .init()]
        source.persistedAgeSeconds = 1.5
        source.report = .init(
            keptBytes: 500_000, lostSamples: 7, ageSeconds: 0.4, soundPeaks: [-6, -90.5])
        source.report?.moved = "tcp://c:5550: nothing was heard of it for 3 s"
        source.report?.owed = [
            .init(collector: "east", records: 10, bytes: 200_000),
            .init(collector: "west", records: 3_000, bytes: 25_000_000),
        ]
        source.clock = .init(
            offsetNanoseconds: -123_456_789, boundNanoseconds: 250_000, skewPPB: 12_500)
        var status = CollectorStatus(session: "2026-11-20T22-40-00.000Z", sources: [source])
        status.sessionSeconds = 3_600.5
        status.sessionsBegun = 2
        status.sessionsEnded = 1
        status.refusedConnections = [.unknownKey: 1, .version: 2]
        status.disk.freeBytes = 100_000_000_000
        status.disk.sizeBytes = 500_000_000_000
        status.disk.reserveBytes = 1_000_000_000
        status.disk.writtenBytes = 14_900_000
        status.disk.writtenBytesPerSecond = 500_000
        status.disk.synchronising.add(.milliseconds(4))
        status.disk.synchronising.add(.milliseconds(700))
        status.cost.streamSeconds = 3_840
        status.cost.cpuSeconds = 5.12
        status.cost.wakeUps = 1_344
        status.cost.copiedBytes = 8_320_000
        status.cost.synchronisations = 3_968
        var store = StoreStatus(name: "s3://bucket/archive")
        store.storedSegments = 120
        store.sentBytes = 36_000_000_000
        store.evictedSegments = 80
        store.failures = ["busy": 2, "denied": 0]
        store.waitingSegments = 3
        store.waitingBytes = 900_000_000
        store.oldestSeconds = 754
        store.setAside = 1
        store.retention = LeaseStatus(state: .held, token: 4)
        status.store = store
        return status
    }
}

extension StatusBoard {
    /// A board whose clock the test sets.
    static func at(_ seconds: @escaping @Sendable () -> Int64) -> StatusBoard {
        StatusBoard(version: "1.2.3") { seconds() * 1_000_000_000 }
    }
}
