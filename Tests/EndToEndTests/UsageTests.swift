import Foundation
import Testing

extension EndToEnd {
    /// Impossible requests fail with one line and the right exit status.
    @Suite(.serialized, .long) struct UsageTests {
        /// A command line that must fail.
        struct Case: Sendable, CustomTestStringConvertible {
            var program: Executable
            var arguments: String
            var status: Int32
            /// Text that the line must contain.
            var text: String

            init(_ program: Executable, _ arguments: String, _ status: Int32, _ text: String) {
                self.program = program
                self.arguments = arguments
                self.status = status
                self.text = text
            }

            var testDescription: String { "\(program.rawValue) \(arguments)" }
        }

        private static let wishes: [Case] = [
            Case(.agent, "--video test --colour red", 64, "Unknown option '--colour'"),
            Case(.agent, "", 64, "--video"),
            Case(.agent, "--video test --size 640", 64, "'640'"),
            Case(.agent, "--video test --size 641x360", 64, "'641x360'"),
            Case(.agent, "--video test --size 32x32", 64, "160×90"),
            Case(.agent, "--video test --fps 0", 64, "'0'"),
            Case(.agent, "--video test --fps 1/2147483647", 64, "'1/2147483647'"),
            Case(.agent, "--video test --duration soon", 64, "'soon'"),
            Case(.agent, "--video test --source ../etc", 64, "'../etc' is not a valid name"),
            // The archive's own files have this name.
            Case(
                .agent, "--video test --source session.json", 64,
                "'session.json' is not a valid name"),
            Case(
                .agent, "--video test --collector http://box", 64, "'http://box' is not an endpoint"
            ),
            Case(.agent, "--video none --audio none", 64, "none"),
            Case(.agent, "--video none --audio none --check-config", 64, "none"),
            Case(.agent, "doctor --video none --audio none --check-config", 64, "none"),
            Case(
                .agent, "--video test --size 320x180 --crop 640x360+0+0 --check-config", 64,
                "is not within"),
            Case(
                .agent, "--video first --video-format yuyv2 --check-config", 64, "is not a format"),
            Case(.agent, "--video test --encoder bogus --check-config", 64, "encoder \"bogus\""),
            Case(
                .agent, "--video test --collector tcp://a:1,,tcp://b:1 --check-config", 64,
                "has an empty endpoint"),
            Case(
                .agent, "--video test --collector tcp://a:1,tcp://b:1,tcp://a:1 --check-config", 64,
                "has tcp://a:1 twice"),
            Case(.agent, "--video test --video-bitrate 2G", 64, "must be from 1k to 1G"),
            Case(.agent, "--video /dev/video99", 1, "no camera \"/dev/video99\""),
            Case(.agent, "--video /dev/null", 1, "/dev/null is not a camera"),
            Case(.agent, "--video test --video-format nv12", 64, "--video-format is for cameras"),
            Case(.agent, "--video first --video-format yuyv2", 64, "\"yuyv2\" is not a format"),
            Case(.agent, "--video first --video-format nv12 --encoder copy", 64, "not NV12"),
            Case(.agent, "devices --colour", 64, "See 'tributary-agent devices --help'"),
            Case(.agent, "devices --interface lo", 64, "--interface is for --network"),
            Case(
                .agent, "devices --network --interface none9", 1,
                "no network interface 'none9'"),
            Case(.agent, "devices --camera http://10.0.0.7/", 64, "HOST, HOST:PORT or https"),
            Case(.agent, "devices --camera fe80::1", 64, "[ADDRESS]:PORT"),
            Case(.agent, "devices --camera-ca ca.pem", 64, "are for --network and --camera"),
            Case(
                .agent,
                "devices --network --camera-ca ca.pem --camera-fingerprint "
                    + String(repeating: "0a", count: 32), 64, "cannot be combined: leave one out"),
            Case(.agent, "devices --network --camera-fingerprint 0a", 64, "is invalid for"),
            Case(.agent, "devices --network --wait 2m", 64, "--wait must be from 1s to 60s"),
            Case(.agent, "devices --camera 10.0.0.7 --wait 5s", 64, "--wait is for --network"),
            Case(.agent, "doctor --colour", 64, "See 'tributary-agent doctor --help'"),
            Case(.agent, "control dance", 64, "no command 'dance': use status,"),
            Case(.agent, "control set --rotate 45", 64, "See 'tributary-agent control set --help'"),
            Case(.agent, "devcies", 64, "no command 'devcies': did you mean 'devices'?"),
            Case(.agent, "--video test --fps -5", 64, "--fps must not be negative: '-5'"),
            Case(.agent, "--video test --preset hgih", 64, "Did you mean 'high'?"),
            Case(
                .agent, "control status --spool /nowhere", 1,
                "no agent is running with its spool in"),
            Case(.archive, "keys enrl door", 64, "no command 'enrl': did you mean 'enrol'?"),
            Case(.archive, "keys forget x --keys /nowhere", 1, "no agent 'x' in /nowhere/agents"),
            Case(.collector, "--reserve 9000000TB", 1, "is larger than the disk of"),
            Case(.collector, "--keep-free 9000000TB", 1, "is larger than the disk of"),
            Case(.collector, "--keep-age 30", 64, "an age with a unit"),
            Case(.collector, "--keep-local 24h", 64, "--keep-local needs an object store"),
            Case(.collector, "--keep-local soon", 64, "'soon'"),
            Case(.collector, "--store-rate 0 --store s3://bucket/prefix", 64, "at least 1kB"),
            Case(.collector, "--store-region x", 64, "need an object store"),
            Case(.collector, "--store-read-back half", 64, "'half'"),
            Case(.archive, "agent stage", 64, "no command for 'stage': use status,"),
            Case(.archive, "agent stage dance", 64, "no command 'dance': use status,"),
            Case(.archive, "agent stage set --fps -1", 64, "See 'tributary agent set --help'"),
            Case(.agent, "--video test --audio hw:99", 1, "no audio device \"hw:99\""),
            Case(.agent, "--video test --encoder copy", 64, "copy"),
            Case(.agent, "--video test --encoder h266", 1, "\"h266\""),
            Case(.collector, "--lissen tcp://127.0.0.1:5550", 64, "Unknown option '--lissen'"),
            Case(.collector, "--listen 5550", 64, "'5550' is not an endpoint"),
            Case(.collector, "--listen tcp://0.0.0.0:5550 --keys /nowhere", 64, "keys generate"),
            Case(.collector, "--keys /nowhere --insecure", 64, "cannot be combined"),
            Case(.collector, "--feed ipc:///nowhere/feed", 64, "use a TCP endpoint"),
            Case(.collector, "--feed tcp://0.0.0.0:5560 --keys /nowhere", 64, "keys generate"),
            Case(
                .agent, "--video test --collector tcp://10.0.0.1:1 --keys /nowhere", 64,
                "--collector-key"),
            Case(
                .agent, "--video test --collector tcp://10.0.0.1:1 --keys /nowhere --check-config",
                64, "--collector-key"),
            Case(
                .viewer, "--feed tcp://10.0.0.1:1 --keys /nowhere --check-config", 64,
                "--collector-key"),
            Case(.agent, "--video test --collector-key abc", 64, "'abc' is not a valid public key"),
            Case(
                .agent, "--video test --collector-key abc --check-config", 64,
                "'abc' is not a valid public key"),
            Case(
                .viewer, "--feed tcp://10.0.0.1:1 --collector-key abc --check-config", 64,
                "'abc' is not a valid public key"),
            Case(.viewer, "--keys /nowhere", 64, "--keys is for --feed, and for the collectors of"),
            Case(.viewer, "--collector-key abc", 64, "--collector-key is for --feed"),
            Case(.viewer, "--store-redirect 60s", 64, "--store-redirect needs an object store"),
            Case(.viewer, "--store-redirect 0s", 64, "--store-redirect must be from 1s to 7d"),
            Case(.collector, "--release stored", 64, "--release stored needs an object store"),
            Case(.collector, "--release soon", 64, "'mirrored' or 'stored'"),
            Case(.archive, "mark latest text --at soon", 64, "'soon' is invalid for '--at"),
            Case(.archive, "mark latest --at 5", 64, "--at and --source need a text"),
            Case(.archive, "mark latest --remove 12", 64, "'12' is not a mark's ID"),
            Case(.archive, "mark latest text --archive /nowhere", 1, "no archive at /nowhere"),
            Case(
                .agent, "--video test --keys /nowhere --insecure", 64,
                "--insecure cannot be combined"),
            Case(
                .archive, "keys authorize ../x abc --keys /nowhere", 64,
                "'abc' is not a valid public key"),
            Case(.archive, "keys authorize x --keys /nowhere", 1, "no agent 'x'"),
            Case(.archive, "keys revoke x --keys /nowhere", 1, "no agent 'x' in /nowhere/agents"),
            Case(
                .archive, "keys authorize x --sources a/b --keys /nowhere", 64,
                "'a/b' is not a valid"
            ),
            Case(.collector, "--segment 0s", 64, "0s is too short"),
            Case(.collector, "--start-at noon", 64, "'noon'"),
            Case(.collector, "--start-at frst-video", 64, "Did you mean 'first-video'?"),
            Case(.collector, "--http nowhere", 64, "'nowhere'"),
            Case(.collector, "--http ::1:80", 64, "'::1:80'"),
            Case(.collector, "--http 127.0.0.1:99999", 64, "'127.0.0.1:99999'"),
            Case(.archive, "top --archive /nowhere", 1, "no collector is running on /nowhere"),
            Case(.archive, "top --http 0", 64, "needs a port"),
            Case(.archive, "top --interval 1ms", 64, "use 200ms to 1h"),
            Case(.archive, "top --http 127.0.0.1:1", 1, "Connection refused"),
            Case(.archive, "lss", 64, "no command 'lss': did you mean 'ls'?"),
            Case(.archive, "ls --archive /nowhere", 1, "no archive at /nowhere"),
            Case(.archive, "ls --archive s3://AB", 64, "names no bucket"),
            Case(.archive, "ls --archive s3://abc --store s3://abc", 64, "leave --store out"),
            Case(.archive, "ls --store-endpoint https://store", 64, "need an object store"),
            Case(
                .archive, "ls --store s3://abc --store-endpoint store:9000", 64,
                "must begin with https://"),
            Case(.archive, "rm latest --archive s3://abc", 64, "needs a directory"),
            Case(.archive, "show s3://abc", 1, "is an object store: give it in --archive"),
            Case(.viewer, "--archive s3://AB", 64, "names no bucket"),
            Case(.viewer, "--archive /tmp --state /dev/null/state", 1, "give --state a directory"),
            Case(.viewer, "--archive /tmp --state /proc/state", 1, "give --state a directory"),
            Case(.viewer, "--archive /tmp --exports /dev/null", 1, "give --exports a directory"),
            Case(.viewer, "--archive /tmp --exports /proc/x", 1, "give --exports a directory"),
            Case(.archive, "verify /nowhere/a.mp4", 1, "no file '/nowhere/a.mp4'"),
            Case(.archive, "inspect /nowhere/a.mp4", 1, "no file '/nowhere/a.mp4'"),
            Case(.archive, "replay", 64, "<input>"),
            Case(.archive, "replay /nowhere/a.mp4", 1, "no file '/nowhere/a.mp4'"),
            Case(.archive, "replay latest --archive /nowhere", 1, "no archive at /nowhere"),
            Case(.archive, "replay /proc", 1, "neither a session directory"),
            Case(.archive, "replay /etc/hostname", 1, "is not a recorded segment"),
            Case(
                .archive, "replay latest --to http://box", 64, "'http://box' is not a destination"),
            Case(.archive, "replay latest --speed 0", 64, "'0'"),
            Case(.archive, "replay latest --speed 1e3", 64, "'1e3'"),
            Case(.archive, "replay latest --from 1:99", 64, "'1:99'"),
            Case(
                .archive, "replay latest --archive /nowhere --to tcp://10.0.0.1:1 --keys /nowhere",
                1,
                "no archive"),
            Case(.archive, "export /nowhere/a.mp4 -o b.mp4", 1, "no file '/nowhere/a.mp4'"),
            Case(.archive, "export latest -o b.mp4 --archive /nowhere", 1, "no archive at"),
            Case(.archive, "export latest -o b.txt", 64, "'b.txt' has no known suffix"),
            Case(.archive, "export latest -o b.mp4 --start soon", 64, "'soon'"),
            Case(.archive, "export latest -o b.mp4 --video-bitrate 4M", 64, "--video-codec"),
            Case(.archive, "export latest -o b.mp4 --source a --source b", 64, "--layout grid"),
            Case(.archive, "export latest -o b.mp4 --size 641x3 --video-codec h264", 64, "641x3"),
            Case(.archive, "export latest -o -", 64, "cannot export to standard output"),
            Case(.archive, "extract latest -o b.txt", 64, "'b.txt' has no known suffix"),
            Case(.archive, "extract latest --at 1s -o b.wav", 64, "--at is for pictures"),
            Case(
                .archive, "remux /nowhere/a.mkv /tmp/b.txt", 64,
                "'/tmp/b.txt' is not a known container"),
            Case(.archive, "remux /nowhere/a.mkv /nowhere/b.mp4", 1, "cannot write /nowhere/b.mp4"),
            Case(.archive, "import /nowhere/a.mkv", 1, "no file '/nowhere/a.mkv'"),
            Case(.archive, "import --at 5s /nowhere/a.mkv", 64, "write a date"),
            Case(.archive, "import --source ../x /nowhere/a.mkv", 64, "'../x' is not a valid name"),
            Case(.archive, "import --segment 0s /nowhere/a.mkv", 64, "too short"),
            Case(.archive, "import --source a --source b /nowhere/a.mkv", 64, "2 names for 1"),
            Case(.archive, "import /etc/hostname", 1, "it is not a media file"),
            Case(.archive, "import /dev/null", 1, "it is a device, and a file is needed"),
            Case(.archive, "export /etc/hostname -o b.mp4", 1, "is not a recorded segment"),
            Case(.archive, "export latest -o b.mp4 --only smell", 64, "'smell'"),
            Case(.archive, "export latest -o b.mp4 --layout grid --fps 0", 64, "1 to 120"),
            Case(.archive, "export latest -o b.mp4 --audio-source x", 64, "--layout grid"),
            Case(.archive, "export latest -o b.mp4 --start 1:2:3:4", 64, "'1:2:3:4'"),
            Case(.archive, "extract latest -o b.h264 --kind aac", 64, "means h264"),
            Case(.archive, "extract latest --jpeg --kind png", 64, "cannot be combined"),
            Case(.archive, "extract latest -o b.jpg --start 1s", 64, "use --at"),
            Case(.archive, "extract latest -o b.aac --close-gaps", 64, "is for .wav"),
            Case(.archive, "remux /etc/hostname /tmp/b.mp4", 1, "it is not a media file"),
            Case(.archive, "remux /dev/zero /tmp/b.mkv", 1, "it is a device, and a file is needed"),
            Case(
                .archive, "remux /nowhere/a.mkv b.mp4 --format exe", 64,
                "'exe' is not a known container"),
            Case(.archive, "replay latest --to srt://box", 64, "has no port: write srt://"),
            Case(.archive, "replay latest --to udp://:5000", 64, "has no host"),
            Case(.archive, "replay latest --to rtmp://box:99999/a", 64, "has an invalid port"),
            Case(.archive, "replay latest --to b.xyz", 64, "'b.xyz' is not a destination"),
            Case(.archive, "replay latest --to ipc://", 64, "has no path"),
            Case(
                .archive, "replay latest --to tcp://127.0.0.1:99999", 64, "the port must be 1–65535"
            ),
            Case(.archive, "replay latest --speed 0.0001", 64, "'0.0001'"),
            Case(.archive, "note latest --archive /nowhere", 1, "no archive at /nowhere"),
            Case(.archive, "note", 64, "<session>"),
            Case(.archive, "rm", 64, "<session>"),
            Case(.archive, "rm x --archive /a --archive /b", 64, "works on one archive: give one"),
            Case(.archive, "mark x y --archive /a --archive /b", 64, "works on one archive"),
            Case(.archive, "note x --tag y --archive /a --archive /b", 64, "works on one archive"),
            Case(.archive, "top --archive /a --archive /b", 64, "works on one archive"),
            Case(.archive, "agent x status --archive /a --archive /b", 64, "works on one archive"),
            Case(.archive, "store verify --archive /a --archive /b", 64, "works on one archive"),
            Case(.archive, "ls --archive /tmp --archive /tmp/", 64, "are the same archive"),
            Case(.archive, "rm latest --archive /nowhere", 1, "no archive at /nowhere"),
            Case(.archive, "store push", 64, "no object store"),
            Case(.archive, "store verify --store-region x", 64, "need an object store"),
            Case(.archive, "store fetch --store s3://bucket/prefix", 64, "use --all"),
            Case(.archive, "store forget --older soon", 64, "'soon'"),
            Case(.archive, "index --archive /nowhere", 1, "no archive at /nowhere"),
            Case(.archive, "index extra", 64, "'extra'"),
            Case(.archive, "ls --from soon", 64, "'soon'"),
            Case(.archive, "ls --from 5s", 64, "write a date"),
            Case(
                .archive, "ls --from 2030-01-01T00:00:00Z --until 2020-01-01T00:00:00Z", 64,
                "--from must be before --until"),
        ]

        @Test func `a named camera that does not answer is listed with an error`() async throws {
            try await Stage.with { stage in
                let outcome = try await stage.start(
                    .agent, ["devices", "--camera", "127.0.0.1:1"]
                ).outcome()
                #expect(outcome.status == 1)
                #expect(outcome.complaintLines.count == 1)
                #expect(outcome.complaints.contains("--camera 127.0.0.1:1: cannot connect"))
                #expect(outcome.output.contains("not usable: cannot connect"))
            }
        }

        @Test(arguments: wishes)
        func `an invalid option is refused in one line`(_ wish: Case) async throws {
            try await Stage.with { stage in
                let words = wish.arguments.split(separator: " ").map(String.init)
                let outcome = try await stage.start(wish.program, words).outcome()
                #expect(outcome.status == wish.status)
                #expect(outcome.complaintLines.count == 1)
                #expect(outcome.complaints.hasPrefix("\(wish.program.rawValue): "))
                #expect(outcome.complaints.contains(wish.text))
                #expect(outcome.output.isEmpty)
            }
        }

        @Test(arguments: [Executable.agent, .collector, .archive, .viewer])
        func `help and version are given on standard output`(_ program: Executable) async throws {
            try await Stage.with { stage in
                for word in ["--help", "--version"] {
                    let outcome = try await stage.run(program, word)
                    #expect(outcome.status == 0)
                    #expect(outcome.complaints.isEmpty)
                    #expect(!outcome.output.isEmpty)
                }
            }
        }

        @Test func `a port in use is named`() async throws {
            try await Stage.with { stage in
                let first = try stage.start(
                    .collector, ["--listen", "tcp://127.0.0.1:*", "--archive", stage.archive])
                try await first.says("listening on")
                let endpoint = try #require(
                    first.complaints.firstMatch(of: /tcp:\/\/127\.0\.0\.1:\d+/)?.output)
                let second = try await stage.run(
                    .collector, "--listen", "\(endpoint)", "--archive", stage.archive + "-2")
                #expect(second.status == 1)
                #expect(second.complaintLines.count == 1)
                #expect(second.complaints.contains("\(endpoint) is in use"))
                #expect(first.isRunning)
            }
        }

        @Test(arguments: ["/nowhere/a.wire", "/etc/hostname", "/etc", ""])
        func `a wire that cannot be recorded is named`(_ path: String) async throws {
            try await Stage.with { stage in
                let outcome = try await stage.run(
                    .collector, "--listen", stage.endpoint, "--archive", stage.archive,
                    "--record-wire", path)
                #expect(outcome.status == (path.isEmpty ? 64 : 1))
                #expect(outcome.complaintLines.count == 1)
                #expect(outcome.complaints.contains(path.isEmpty ? "--record-wire" : path))
            }
        }

        @Test func `an archive that cannot be written is named`() async throws {
            try await Stage.with { stage in
                let file = stage.directory.appending(path: "file")
                try Data().write(to: file)
                let outcome = try await stage.run(
                    .collector, "--listen", stage.endpoint, "--archive", "\(file.path)/archive")
                #expect(outcome.status == 1)
                #expect(outcome.complaintLines.count == 1)
                #expect(outcome.complaints.contains("cannot record into \(file.path)/archive"))
            }
        }

        @Test func `one signal ends an agent without a collector, with its spool kept`()
            async throws
        {
            try await Stage.with { stage in
                let agent = try stage.testAgent("camera", "--linger", "1s")
                try await agent.says("no collector at \(stage.endpoint)")
                agent.signal(SIGTERM)
                let outcome = try await agent.outcome()
                #expect(outcome.status == 1)
                let last = try #require(outcome.complaintLines.last)
                #expect(last.contains("had not reached the collector's disk (no collector at"))
                #expect(last.contains("they stay in \(stage.spool)/camera and are sent"))
                // The samples are sent later, as it says.
                let collector = try await stage.collector()
                try await stage.testAgent("camera", "--duration", "1s").succeeds()
                collector.signal(SIGTERM)
                try await collector.succeeds()
                #expect(try stage.recordings("camera").count == 2)
            }
        }

        @Test func `after its duration an agent waits only for its linger time`() async throws {
            try await Stage.with { stage in
                let agent = try stage.testAgent("camera", "--duration", "1s", "--linger", "1s")
                let outcome = try await agent.outcome()
                #expect(outcome.status == 1)
                #expect(
                    outcome.complaintLines.last?.contains("and are sent at the next start") == true)
            }
        }

        @Test func `an unresolvable collector name is reported`() async throws {
            try await Stage.with { stage in
                let agent = try stage.start(
                    .agent,
                    [
                        "--collector", "tcp://nosuch.invalid:5550", "--insecure", "--source",
                        "camera",
                        "--video", "test", "--size", "320x180", "--spool", stage.spool,
                        "--linger", "1s",
                    ])
                try await agent.says("the host name 'nosuch.invalid' cannot be resolved (")
                agent.signal(SIGTERM)
                let outcome = try await agent.outcome()
                #expect(
                    outcome.complaintLines.last?.contains(
                        "the host name 'nosuch.invalid' cannot be")
                        == true)
            }
        }

        @Test func `a hanging collector is reported, without advice about keys`() async throws {
            try await Stage.with { stage in
                let endpoint = "tcp://127.0.0.1:*"
                let collector = try stage.start(
                    .collector, ["--listen", endpoint, "--archive", stage.archive])
                try await collector.says("listening on")
                let port = try #require(
                    try collector.complaints.split(separator: "tcp://127.0.0.1:").dropFirst().first?
                        .prefix { $0.isNumber })
                collector.signal(SIGSTOP)
                defer { collector.signal(SIGKILL) }
                let agent = try stage.start(
                    .agent,
                    [
                        "--collector", "tcp://127.0.0.1:\(port)", "--source", "camera",
                        "--video", "test", "--size", "320x180", "--spool", stage.spool,
                        "--linger", "1s",
                    ])
                for words in [["top", "--once"], ["stop"], ["agent", "camera", "status"]] {
                    let outcome = try await stage.start(
                        .archive, words + ["--archive", stage.archive]
                    ).outcome()
                    #expect(outcome.status == 1)
                    #expect(outcome.complaintLines.count == 1)
                    #expect(
                        outcome.complaints.contains("the collector does not answer"), "\(words)")
                }
                try await agent.says("accepts connections but does not answer")
                agent.signal(SIGTERM)
                let said = try await agent.outcome().complaints
                #expect(!said.contains("collector-key"), "\(said)")
            }
        }

        @Test func `a second signal ends an agent that waits for its collector`() async throws {
            try await Stage.with { stage in
                let agent = try stage.testAgent("camera")
                try await agent.says("no collector at \(stage.endpoint)")
                agent.signal(SIGINT)
                try await agent.says("waiting until the collector has everything")
                #expect(agent.isRunning)
                agent.signal(SIGINT)
                let outcome = try await agent.outcome()
                #expect(outcome.status == 1)
                #expect(outcome.complaintLines.last?.contains("had not reached") == true)
            }
        }

        @Test func `a collector that begins later gets everything from the start`() async throws {
            try await Stage.with { stage in
                let agent = try stage.testAgent("camera", "--duration", "3s")
                try await agent.says("no collector at")
                let collector = try await stage.collector("--once")
                for program in [agent, collector] { try await program.succeeds() }
                #expect(try collector.complaints.contains("90 pictures"))
                #expect(try Numbers(of: "camera", on: stage).missing == [])
                try await expectAudio(stage)
            }
        }
    }
}
