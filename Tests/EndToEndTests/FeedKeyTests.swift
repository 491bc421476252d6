import Foundation
import Testing

extension EndToEnd {
    /// Live viewing from another machine: the feed over TCP and the keys that may receive it.
    @Suite(
        .serialized,
        .enabled(if: Foreign.curl != nil, "curl asks the viewer"))
    struct FeedKeyTests {
        private static let live = "/hls/live/stage/index.m3u8"

        /// A viewer that receives the feed of a site over TCP.
        private func viewer(of site: Site, keys: String) async throws -> ServedArchive {
            try await site.collector.says("the feed is at tcp://")
            let endpoint = try #require(
                site.collector.complaints.firstMatch(of: /the feed is at (tcp:[^ \n]+)/)?.1)
            return try await ServedArchive(
                on: site.stage, "--feed", String(endpoint), "--collector-key", site.key, "--keys",
                site.stage.directory.appending(path: keys).path)
        }

        /// The public key that a viewer reports having created.
        private func key(saidBy viewer: Running) async throws -> String {
            try await viewer.says("tributary keys authorize")
            return String(
                try #require(
                    viewer.complaints.firstMatch(
                        of: /keys authorize viewer ([a-z2-7]{56}) --watch/)?
                        .1))
        }

        @Test func `a key with the right to watch receives live samples, and no other key does`()
            async throws
        {
            try await Stage.with { stage in
                let site = try await Site.open(on: stage, "--once", "--feed", "tcp://127.0.0.1:*")
                let agent = try site.agent("stage", keys: "box")
                try await site.keys("authorize", "stage", try await site.key(saidBy: agent))
                // An unauthorised viewer.
                let served = try await viewer(of: site, keys: "viewer")
                let key = try await key(saidBy: served.viewer)
                try await served.viewer.says("does not admit this viewer's key")
                try await site.collector.says(
                    "refused: its key is not authorised (use 'tributary keys authorize NAME KEY --watch')"
                )
                // A box that may write this source.
                let other = try await viewer(of: site, keys: "box")
                try await other.viewer.says("does not admit this viewer's key")
                try await site.collector.says("refused: the key of stage may not watch")
                try await site.keys("authorize", "viewer", key, "--watch")
                try await served.eventually("the source is live", Self.live) {
                    $0.status == 200 && $0.text.contains("#EXT-X-PART")
                }
                #expect(try await site.keys("list").contains("every source"))
                // A viewer's key does not authorise an agent.
                let writer = try site.agent("door", keys: "viewer")
                try await site.collector.says(
                    "refused: the key of viewer may watch, and write no source")
                writer.signal(SIGKILL)
                try await site.keys("authorize", "viewer", "--no-watch")
                try await site.collector.says("its key may not watch any more")
                try await served.viewer.says("does not admit this viewer's key", times: 2)
                // Viewers, authorised or not, do not affect the recording.
                agent.signal(SIGINT)
                for program in [agent, site.collector] { try await program.succeeds() }
                let session = try #require(try stage.sessions.first).lastPathComponent
                try await stage.start(
                    .archive, ["verify", session, "--archive", stage.archive]
                ).succeeds()
            }
        }

        @Test func `on one machine the feed over TCP needs no keys`() async throws {
            try await Stage.with { stage in
                let collector = try await stage.collector("--feed", "tcp://127.0.0.1:*")
                try await collector.says("the feed is at tcp://127.0.0.1")
                let endpoint = try #require(
                    collector.complaints.firstMatch(
                        of: /the feed is at (tcp:[^ ,\n]+), without keys/)?
                        .1)
                let agent = try stage.testAgent("stage")
                let served = try await ServedArchive(on: stage, "--feed", String(endpoint))
                try await served.eventually("the source is live", Self.live) { $0.status == 200 }
                #expect(agent.isRunning && collector.isRunning)
            }
        }
    }
}
