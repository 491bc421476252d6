// swift-tools-version: 6.2
import PackageDescription

/// Tests/Fuzz/run builds one program more. What it executes is counted in our own modules alone: libFuzzer looks at every counter
/// after every execution, and three in five would be the dependencies'.
let isFuzzed = Context.environment["TRIBUTARY_FUZZ"] != nil
let coverage: [SwiftSetting] =
    isFuzzed ? [.unsafeFlags(["-sanitize-coverage=edge,pc-table,inline-8bit-counters"])] : []

/// Every target is compiled the same way: Swift 6 mode, warnings are errors, imports are explicit.
let settings: [SwiftSetting] =
    [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .treatAllWarnings(as: .error),
    ] + coverage

let argumentParser: Target.Dependency = .product(
    name: "ArgumentParser", package: "swift-argument-parser")
/// What the viewer's HTTP server is made of.
let viewerServer: [Target.Dependency] = [
    .product(name: "Hummingbird", package: "hummingbird"),
    .product(name: "HummingbirdCore", package: "hummingbird"),
    .product(name: "HummingbirdHTTP2", package: "hummingbird"),
    .product(name: "HTTPTypes", package: "swift-http-types"),
    .product(name: "NIOCore", package: "swift-nio"),
    .product(name: "NIOHTTP1", package: "swift-nio"),
    .product(name: "NIOPosix", package: "swift-nio"),
    .product(name: "NIOSSL", package: "swift-nio-ssl"),
    .product(name: "NIOTLS", package: "swift-nio"),
    .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
]
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let protobuf: Target.Dependency = .product(name: "SwiftProtobuf", package: "swift-protobuf")

/// A Swift library of this package, in `Sources/<name>`.
func library(_ name: String, _ dependencies: Target.Dependency...) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

/// One of the four programs: a thin `@main` over the services below it.
func program(_ name: String, _ dependencies: Target.Dependency...) -> Target {
    .executableTarget(
        name: name, dependencies: dependencies + [argumentParser, logging, "Terminal"],
        swiftSettings: settings)
}

/// The modules whose tests are declared: those that `TRIBUTARY_TESTS` names (`Wire,Timing`), else all. SwiftPM links all tests into one
/// program; with a few of them it is built in seconds. `deploy/test FILTER` sets it.
let selectedTests = Context.environment["TRIBUTARY_TESTS"].map { names in
    Set(names.split(separator: ",").map { "\($0)Tests" })
}

/// The tests of one module, in `Tests/<name>Tests`.
func tests(_ name: String, _ dependencies: Target.Dependency...) -> Target {
    .testTarget(
        name: "\(name)Tests", dependencies: dependencies, swiftSettings: settings)
}

let package = Package(
    name: "tributary",
    products: [
        .executable(name: "tributary-agent", targets: ["tributary-agent"]),
        .executable(name: "tributary-collector", targets: ["tributary-collector"]),
        .executable(name: "tributary-viewer", targets: ["tributary-viewer"]),
        .executable(name: "tributary", targets: ["tributary"]),
    ],
    dependencies: [
        // Exact, not "from": what is built tomorrow is what was tested.
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/apple/swift-protobuf", exact: "1.39.0"),
        // The viewer's HTTP server. Without traits: no package for configuration files, no more of Foundation than need be.
        .package(
            url: "https://github.com/hummingbird-project/hummingbird", exact: "2.28.1", traits: []),
        .package(url: "https://github.com/apple/swift-http-types", exact: "1.8.0"),
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", exact: "2.37.6"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
        // What these are built from. No target names them: they are here for their versions, and SwiftPM remarks on it.
        .package(url: "https://github.com/apple/swift-async-algorithms", exact: "1.1.4"),
        .package(url: "https://github.com/apple/swift-atomics", exact: "1.3.0"),
        .package(url: "https://github.com/apple/swift-collections", exact: "1.6.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", exact: "1.7.3"),
        .package(url: "https://github.com/apple/swift-metrics", exact: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio-extras", exact: "1.35.2"),
        .package(url: "https://github.com/apple/swift-nio-http2", exact: "1.46.0"),
        .package(url: "https://github.com/apple/swift-service-context", exact: "1.5.1"),
    ],
    targets: [
        // Module maps and the thinnest shims. The levels of modules are in docs/development.md.
        .systemLibrary(
            name: "CALSA", pkgConfig: "alsa", providers: [.apt(["libasound2-dev"])]),
        .systemLibrary(
            name: "CFFmpeg",
            pkgConfig: "libavformat libavcodec libswscale libswresample libavutil",
            providers: [
                .apt([
                    "libavformat-dev", "libavcodec-dev", "libswscale-dev", "libswresample-dev",
                    "libavutil-dev",
                ])
            ]),
        .systemLibrary(name: "CChecksum"),
        .systemLibrary(name: "CCurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "COpenSSL", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CLinux"),
        .systemLibrary(name: "CPostgreSQL", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(name: "CTLS", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CSQLite", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CV4L2"),
        // What browsers load, and the description of the HTTP interface.
        .target(name: "CViewerPage", exclude: ["page"]),
        .systemLibrary(name: "CYAML", providers: [.apt(["libyaml-dev"])]),
        .systemLibrary(name: "CZeroMQ", providers: [.apt(["libzmq3-dev"])]),
        .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"])]),

        // Values and handles that know nothing of each other.
        library("Files"),
        library("Hashing", "COpenSSL"),
        library("JSON"),
        library("Media"),
        library("Messaging", "CZeroMQ"),
        library("PostgreSQL", "CPostgreSQL"),
        library("SQLite", "CSQLite"),
        library("Threads", "CLinux"),
        library("XML"),

        // One concern each.
        library("Accounts", "Files", "Hashing", "Media", "Threads"),
        library("ObjectStore", "Files", "Hashing", "CCurl", "Media", "Threads", "XML"),
        library("RTSP", "Hashing", "Media"),
        library("Timing", "Media"),
        library("Wire", protobuf, "Media"),
        library("MP4", "Files", "Media"),
        library("Spooling", "CChecksum", "CLinux", "Files"),
        library(
            "Terminal", argumentParser, logging, "CLinux", "CYAML", "Files", "Hashing", "JSON",
            "Media"),
        library("FFmpegSupport", "Files", "CFFmpeg", "Media", "MP4"),

        // Recordings on disk; who may write them; media of all kinds.
        library("ONVIF", "Hashing", "Media", "RTSP", "XML"),
        library("Encoding", "CFFmpeg", "FFmpegSupport", "Media"),
        library("RTSPServer", "Hashing", "Media", "RTSP"),
        library("Containers", "Files", "CFFmpeg", "FFmpegSupport", "Media"),
        library(
            "Trust", "Files", argumentParser, "Hashing", logging, "Messaging", "Terminal", "Wire"),
        library(
            "Control", "Files", argumentParser, "JSON", "Media", "Messaging", "Terminal", "Threads",
            "Wire"),
        library(
            "Archive", "Files", "Hashing", "CLinux", "Media", "MP4", "Threads",
            "Timing"),
        library(
            "CollectorClient", "Files", "Hashing", logging, "Media", "Messaging", "Spooling",
            "Threads",
            "Timing", "Wire"),
        library("Operations", "Files", "JSON", "Media", "Terminal"),

        // Capture, and consumers of recordings.
        library(
            "Devices", "Files", "CALSA", "CFFmpeg", "CLinux", "CTLS", "CV4L2", "FFmpegSupport",
            "Media", "ONVIF", "RTSP", "Threads"),
        library(
            "Catalog", argumentParser, "Archive", "CLinux", "Media", "MP4", "PostgreSQL", "SQLite",
            "Terminal", "Threads"),
        library("OperationsServer", logging, "CLinux", "Files", "Operations", "Threads"),
        library(
            "Uploading", "Files", "Hashing", "Archive", "CLinux", "Media", "ObjectStore", "Threads"),

        library(
            "Recordings", "Archive", "CLinux", "Files", "Media", "MP4", "ObjectStore", "Threads",
            "Timing"),

        // Queries of an archive and its catalog.
        library(
            "Library", "Files", argumentParser, "Archive", "Catalog", "CLinux", "Media", "MP4",
            "ObjectStore", "Operations", "Recordings", "Terminal", "Threads"),

        // The programs' services.
        library(
            "AgentCore", "Files", "Hashing", logging, "Control", "Devices", "Encoding", "Media",
            "Messaging",
            "CollectorClient", "RTSP", "Spooling", "Threads", "Trust", "Wire"),
        library(
            "CollectorCore", "Files", logging, "Archive", "Catalog", "CLinux", "Control", "JSON",
            "Library", "Media", "Recordings",
            "Messaging",
            "ObjectStore", "Operations", "CollectorClient", "Terminal", "Threads", "Timing",
            "Trust",
            "Uploading", "Wire"),
        library(
            "ReplayCore", logging, "Archive", "CollectorClient", "Containers", "Library", "Media",
            "Messaging", "Recordings", "Spooling", "Trust", "Wire"),
        library(
            "ForwardCore", logging, "Containers", "Media", "Messaging", "Threads", "Trust", "Wire"),
        library("SyncCheck", "Archive", "Devices", "Encoding", "Media", "MP4"),
        library(
            "ExportCore", "Files", "Archive", "CLinux", "Containers", "Devices", "Encoding",
            "Recordings",
            "Media", "MP4", "Terminal"),

        // The viewer's services.
        .target(
            name: "ViewerCore",
            dependencies: viewerServer + [
                "Accounts", "Hashing", logging, "Archive", "Catalog", "CLinux", "CViewerPage",
                "Files", "CZlib",
                "Containers",
                "Control", "Encoding",
                "ExportCore", "JSON", "Library", "Media", "MP4", "Messaging", "ObjectStore",
                "Operations", "OperationsServer", "Recordings", "RTSPServer",
                "Terminal", "Threads", "Trust", "Wire",
            ],
            swiftSettings: settings),

        // The programs.
        program(
            "tributary-agent", "AgentCore", "CLinux", "CollectorClient", "Files", "Control", "JSON",
            "Encoding",
            "Devices", "Media",
            "Messaging", "ONVIF", "RTSP", "Trust", "Wire"),
        program(
            "tributary-collector", "CollectorCore", "Archive", "Catalog", "CLinux", "Files",
            "Library", "Media",
            "ObjectStore", "Operations", "OperationsServer", "Recordings", "Threads", "Trust",
            "Uploading"),
        program(
            "tributary", "Archive", "Catalog", "CollectorClient", "Hashing", "Containers",
            "Control",
            "Devices",
            "Encoding", "ExportCore", "Files", "ForwardCore", "JSON", "Library", "Media",
            "Messaging", "MP4", "ObjectStore", "Operations", "Recordings", "ReplayCore",
            "SyncCheck", "Threads", "Trust", "Uploading",
            "Wire"),
        program(
            "tributary-viewer", "Accounts", "Archive", "Catalog", "CLinux", "Files", "JSON",
            "Library",
            "Messaging",
            "Operations", "Recordings",
            "Threads", "Trust",
            "ViewerCore"),

        // Builds several programs with one command, side by side: those that record and read, and all four.
        library("RecordingPrograms", "tributary", "tributary-agent", "tributary-collector"),
        library("Programs", "RecordingPrograms", "tributary-viewer"),

        // The benchmarks' load: many sources from one file, over the real protocol.
        .executableTarget(
            name: "bench-load",
            dependencies: [
                "CLinux", "CollectorClient", "Devices", "Encoding", "Media", "Messaging",
                "Operations", "Terminal", "Trust", "Wire",
                argumentParser, "Hashing",
            ],
            path: "Tests/Benchmarks/Load", swiftSettings: settings),
        // What Tests/Stores uploads with.
        .executableTarget(
            name: "store-check",
            dependencies: [
                "Archive", "Library", "ObjectStore", "Recordings", "Terminal", "Threads",
                argumentParser,
                "Hashing",
            ],
            path: "Tests/Stores/Check", swiftSettings: settings),
        .target(
            name: "TestMedia", dependencies: ["Media"], path: "Tests/TestMedia",
            swiftSettings: settings),
        // Files of accounts for tests.
        .target(
            name: "TestAccounts", dependencies: ["Accounts", "Threads"], path: "Tests/TestAccounts",
            swiftSettings: settings),
        // Reads `/metrics` as a monitoring system does.
        .target(name: "TestMetrics", path: "Tests/TestMetrics", swiftSettings: settings),
        // A PostgreSQL server in a temporary directory.
        .target(
            name: "TestDatabases", dependencies: ["Catalog", "PostgreSQL"],
            path: "Tests/TestDatabases",
            swiftSettings: settings),
        // Recordings whose every time is known.
        .target(
            name: "TestRecordings", dependencies: ["Archive", "Media", "MP4", "Timing"],
            path: "Tests/TestRecordings", swiftSettings: settings),
        // A simulated disk for spools, with its faults.
        .target(
            name: "TestSpools", dependencies: ["Spooling"], path: "Tests/TestSpools",
            swiftSettings: settings),
        // An object store in memory, with its faults.
        .target(
            name: "TestStores", dependencies: ["Hashing", "Archive", "ObjectStore", "TestSpools"],
            path: "Tests/TestStores", swiftSettings: settings),
        // A disk under real files, with its faults.
        .target(
            name: "TestDisks", dependencies: ["Archive", "CLinux", "TestSpools"],
            path: "Tests/TestDisks", swiftSettings: settings),
        // What reads bytes from strangers, for libFuzzer and for the tests.
        .target(
            name: "FuzzTargets",
            dependencies: [
                "Archive", "Catalog", "FFmpegSupport", "Library", "Media", "Messaging", "MP4",
                "ObjectStore", "ONVIF", "Recordings", "RTSP", "RTSPServer", "Spooling",
                "TestRecordings", "TestSpools", "Trust", "Wire", "XML",
            ],
            path: "Tests/Fuzz/Targets", swiftSettings: settings),
        tests("Fuzz", "FuzzTargets"),
        tests("Accounts", "Accounts", "Files", "Hashing", "Media", "TestAccounts", "Threads"),
        tests(
            "AgentCore", "Hashing", "AgentCore", "Control", "Devices", "Encoding", "Media",
            "Messaging", "CollectorClient", "RTSP", "Spooling", "TestMedia", "TestSpools", "Wire"),
        tests(
            "Archive", "Archive", "Catalog", "Library", "Media", "MP4", "Recordings", "RTSP",
            "TestDisks", "TestMedia", "TestRecordings", "TestSpools", "Timing"),
        tests(
            "Catalog", "Archive", "Catalog", "Library", "Media", "PostgreSQL", "Recordings",
            "SQLite", "TestDatabases", "TestSpools",
            "TestRecordings"),
        tests(
            "CollectorCore", logging, "Archive", "Catalog", "CollectorCore", "Media", "Messaging",
            "ObjectStore", "Operations", "TestDatabases", "TestDisks", "TestMedia",
            "TestRecordings", "TestStores", "Threads", "Timing", "Trust", "Wire"),
        tests("Containers", "Containers", "Devices", "FFmpegSupport", "Media", "TestMedia"),
        tests(
            "ExportCore", "Archive", "Containers", "Devices", "Encoding", "ExportCore", "Library",
            "Media", "MP4", "Recordings", "TestMedia", "TestRecordings"),
        tests(
            "Library", argumentParser, "Archive", "Catalog", "Library", "Media", "MP4",
            "ObjectStore", "Operations", "Recordings", "Terminal", "TestMedia", "TestRecordings",
            "Threads"),
        tests("Files", "Files"),
        tests(
            "ForwardCore", logging, "Containers", "ForwardCore", "Media", "Messaging",
            "Wire"),
        tests("Hashing", "Hashing"),
        tests("JSON", "JSON"),
        tests("Control", argumentParser, "Control", "Messaging", "Terminal", "Wire"),
        tests("Devices", "Devices", "Media", "TestMedia"),
        tests("Encoding", "Devices", "Encoding", "Media", "TestMedia"),
        tests(
            "EndToEnd", "Archive", "CLinux", "Devices", "Media", "Messaging", "ObjectStore",
            "Operations",
            "PostgreSQL", "SQLite",
            "SyncCheck", "store-check", "TestDatabases", "TestMedia", "TestMetrics",
            "TestRecordings", "Threads", "Trust",
            "Wire",
            "tributary", "tributary-agent", "tributary-collector", "tributary-viewer"),
        tests("Media", "Media", "TestMedia"),
        tests("Messaging", "Messaging"),
        tests("MP4", "MP4", "Media", "TestMedia"),
        tests(
            "ObjectStore", "Files", "Hashing", .product(name: "NIOCore", package: "swift-nio"),
            .product(name: "NIOPosix", package: "swift-nio"), "ObjectStore", "Threads", "XML"),
        tests("ONVIF", "Hashing", "Media", "ONVIF", "RTSP"),
        tests("Operations", "Operations", "TestMetrics"),
        tests(
            "OperationsServer", logging, "Operations", "OperationsServer"),
        tests("CollectorClient", "CollectorClient", "Messaging", "Wire"),
        tests(
            "ReplayCore", "Hashing", "Archive", "Containers", "Library", "Media", "Messaging",
            "Recordings", "ReplayCore", "Spooling", "TestMedia", "TestRecordings", "Wire"),
        tests("Repository"),
        tests("RTSP", "Media", "RTSP", "TestMedia"),
        tests("RTSPServer", "Hashing", "Media", "RTSP", "RTSPServer", "TestMedia"),
        tests(
            "Simulation", "AgentCore", "Archive", "Catalog", "CollectorClient", "CollectorCore",
            "Library",
            "Media", "Messaging", "MP4", "ObjectStore", "Recordings", "Spooling",
            "TestDatabases", "TestDisks", "TestSpools", "TestStores", "Uploading", "Wire"),
        tests("SQLite", "SQLite"),
        tests("Threads", "Threads"),
        tests("Spooling", "Spooling", "TestSpools"),
        tests("SyncCheck", "Media", "SyncCheck"),
        tests("Terminal", argumentParser, "JSON", logging, "Terminal"),
        tests("Trust", "Messaging", "Trust", "Wire"),
        tests(
            "ViewerCore", .product(name: "Hummingbird", package: "hummingbird"),
            .product(name: "HTTPTypes", package: "swift-http-types"),
            .product(name: "NIOCore", package: "swift-nio"),
            .product(name: "NIOEmbedded", package: "swift-nio"),
            .product(name: "NIOHTTP1", package: "swift-nio"),
            .product(name: "NIOPosix", package: "swift-nio"),
            .product(name: "NIOTLS", package: "swift-nio"), "Accounts", "Hashing", logging,
            "Archive",
            "Containers",
            "ExportCore", "Library", "Media", "MP4", "ObjectStore", "Operations", "Recordings",
            "RTSPServer", "TestAccounts", "TestMetrics", "TestRecordings", "TestSpools",
            "TestStores",
            "ViewerCore", "Wire"),
        tests(
            "Uploading", "Archive", "Catalog", "Media", "ObjectStore", "TestDisks",
            "TestRecordings", "TestSpools", "TestStores", "Uploading"),
        tests("Wire", protobuf, "Media", "TestMedia", "Wire"),
        tests("Timing", "Media", "Timing"),
        tests("XML", "XML"),
    ],
    swiftLanguageModes: [.v6]
)

if let selectedTests {
    package.targets.removeAll { $0.type == .test && !selectedTests.contains($0.name) }
}

// `Tests/Fuzz/run` links libFuzzer, which ordinary builds do not.
if isFuzzed {
    package.targets.removeAll { $0.type == .test }
    package.targets.append(
        .executableTarget(
            name: "fuzz", dependencies: ["FuzzTargets"], path: "Tests/Fuzz/Program",
            swiftSettings: settings))
}
