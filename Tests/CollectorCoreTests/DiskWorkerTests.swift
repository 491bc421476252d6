import Archive
import Glibc
import Media
import Testing

@testable import CollectorCore

@Suite struct DiskWorkerTests {
    private static let format = TrackFormat.h264(
        H264Format(
            sequenceParameterSets: [
                [0x67, 0x42, 0xC0, 0x0A, 0xDA, 0x0F, 0x0A, 0x69, 0xA8, 0x10, 0x10]
            ],
            pictureParameterSets: [[0x68, 0xCE, 0x06, 0xE2]], width: 16, height: 16))

    @Test func `a session is not called finished while one of its files is stuck`() throws {
        let root = "/tmp/tributary-test-\(getpid())-\(UInt64.random(in: 0 ... .max))"
        let layout = ArchiveLayout(root: root)
        let path = layout.segment("session", "camera", origin: UTCTime(nanoseconds: 0))
        defer {
            unlink(path)
            unlink(layout.manifest("session"))
            for directory in [
                layout.source("session", "camera"), layout.session("session"), layout.sessions,
                root,
            ] { rmdir(directory) }
        }
        try FileSystem.makeDirectories(layout.session("session"))
        var worker = DiskWorker<TestPayload>(
            layout: layout, space: FreeSpace(reserveBytes: 0, directory: layout.sessions))
        func ended() -> Bool {
            worker.takeEvents().contains { if case .ended = $0 { true } else { false } }
        }
        let id = SegmentID(session: "session", source: "camera", number: 1)
        let plan = SegmentPlan(
            originNanoseconds: 0,
            tracks: [
                .init(format: Self.format, originTicks: 0, shiftTicks: 0)
            ])
        // The source's directory is not there yet.
        worker.perform(
            .open(id, path: path, plan: plan, sessionZero: UTCTime(nanoseconds: 0)))
        worker.perform(.finish(id))
        let manifest = layout.manifest("session")
        worker.perform(.endSession("session", path: manifest, Array("{}".utf8)))
        #expect(!ended() && worker.isStuck)
        #expect(!FileSystem.exists(manifest))
        try FileSystem.makeDirectories(layout.source("session", "camera"))
        worker.retry()
        #expect(ended() && !worker.isStuck)
        #expect(FileSystem.exists(manifest))
    }
}
