package import ArgumentParser
import Glibc
import Media
import Terminal
import Wire

/// The commands that every way to an agent has.
package enum AgentCommands {
    package static func all<Route: AgentRoute>(
        by route: Route.Type
    ) -> [any ParsableCommand.Type] {
        [
            AgentStatusCommand<Route>.self, AgentSetCommand<Route>.self,
            AgentStartCommand<Route>.self, AgentStopCommand<Route>.self,
            AgentControlsCommand<Route>.self, AgentKeyframeCommand<Route>.self,
            AgentSnapshotCommand<Route>.self,
        ]
    }

    /// The words as the parser takes them, which wants the command first: `stage status` and `--archive X stage status` are
    /// `status stage …` to it.
    ///
    /// - Parameters:
    ///   - words: what was written behind the name of the program or of its command.
    ///   - valueOptions: options before the command that have a value, without dashes.
    package static func arranged(
        _ words: [String], valueOptions: Set<String>
    ) -> [String] {
        if words.first == "help" { return words }
        let places = plainWords(words, valueOptions).prefix(2)
        // A source may well be called like a command: what comes second is one, then.
        guard let found = places.last(where: { names.contains(words[$0]) }) else { return words }
        var words = words
        words.insert(words.remove(at: found), at: 0)
        return words
    }

    /// Why there is no command in these words, in one line; nil: there is one, or nothing at all, or help is asked for.
    ///
    /// - Parameters:
    ///   - words: as ``arranged(_:valueOptions:)`` gets them.
    ///   - isSourceNamed: a source's name comes before the command.
    package static func flaw(
        in words: [String], valueOptions: Set<String>, isSourceNamed: Bool
    ) -> String? {
        let asksForHelp = ["-h", "--help", "help", "--version"]
        if words.contains(where: asksForHelp.contains) { return nil }
        let plain = plainWords(words, valueOptions).map { words[$0] }
        guard let first = plain.first, !plain.prefix(2).contains(where: names.contains) else {
            return nil
        }
        if isSourceNamed, plain.count == 1 {
            let list = list.dropLast().joined(separator: ", ") + " or " + (list.last ?? "")
            return "say what '\(first)' is to do: \(list), behind its name"
        }
        let unknown = isSourceNamed ? plain[1] : first
        return "there is no command '\(unknown)': \(suggestion(for: unknown, among: list))"
    }

    /// Where words are that are neither options nor their values.
    private static func plainWords(_ words: [String], _ valueOptions: Set<String>) -> [Int] {
        var places: [Int] = []
        var place = 0
        while place < words.count {
            let word = words[place]
            if !word.hasPrefix("-") {
                places.append(place)
            } else if word.hasPrefix("--"), valueOptions.contains(String(word.dropFirst(2))) {
                place += 1
            }
            place += 1
        }
        return places
    }

    private static let list = [
        "status", "set", "start", "stop", "controls", "keyframe", "snapshot",
    ]
    /// Their names.
    package static let names = Set(list)
}

/// `status`: what is captured, and how.
package struct AgentStatusCommand<Route: AgentRoute>: ParsableCommand {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "status", abstract: "Shows what the agent captures, and how it does.")
    }

    @OptionGroup var route: Route
    @Flag(help: "Print JSON.") var json = false

    package init() {}

    package func run() throws {
        try StatusText.show(try route.answer(to: .status).reply, of: route.sourceName, json: json)
    }
}

/// `set`: changes what is captured while it is.
package struct AgentSetCommand<Route: AgentRoute>: ParsableCommand, ExplicitCommand {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "set",
            abstract: "Changes what the agent captures, all that is given at once or nothing.",
            discussion: """
                The recording goes on: same timeline, and where size or format change, a file of its own. Bitrate, \
                rotation and controls change at the next picture; another camera, microphone, size, rate or part takes \
                as long as it takes to open, and the ledger says what is missing. A file begins anew. When something \
                cannot be done, nothing is, and the reason is said.
                """)
    }

    package static var environmentOptions: Set<String> { Route.optionNames }

    @OptionGroup var route: Route

    @Option(help: "Another source of pictures, as the agent's --video takes it.")
    var video: String?

    @Option(help: "Another source of sound, as the agent's --audio takes it.")
    var audio: String?

    @Option(help: "The pictures' size, such as 1280x720, or own.")
    var size: OwnOr<PictureSize>?

    @Option(help: "Pictures per second, or own.")
    var fps: OwnOr<FrameRate>?

    @Option(help: "Bits per second of the pictures, on average.")
    var videoBitrate: Bitrate?

    @Option(
        help: "A part of the pictures, WIDTHxHEIGHT+X+Y, all of them even; own for all of it.")
    var crop: OwnOr<PictureCrop>?

    @Option(help: "How players turn the pictures: clockwise by 0, 90, 180 or 270 degrees.")
    var rotate: PictureOrientation.Rotation?

    @Option(help: "Whether players exchange left and right, before they turn: on or off.")
    var mirror: OnOff?

    @Option(
        name: .customLong("control"),
        help: ArgumentHelp(
            "A control of the camera, such as brightness=128 or focus_auto=off. Repeatable.",
            valueName: "name=value"))
    var controls: [ControlArgument] = []

    @Flag(help: "Print JSON.") var json = false

    package init() {}

    private var change: CaptureChange {
        var change = CaptureChange()
        change.video = video
        change.audio = audio
        change.size = size?.choice
        change.frameRate = fps?.choice
        change.videoBitrate = videoBitrate.map { UInt64(clamping: $0.bitsPerSecond) }
        change.crop = crop?.choice
        change.rotation = rotate
        change.isMirrored = mirror.map { $0 == .on }
        change.controls = controls.map(\.setting)
        return change
    }

    package func run() throws {
        guard !change.isEmpty else {
            throw UsageError("nothing to set: say what to change, such as --video-bitrate 2M")
        }
        try StatusText.show(
            try route.answer(to: .change(change)).reply, of: route.sourceName, json: json)
    }
}

/// `start`: captures again.
package struct AgentStartCommand<Route: AgentRoute>: ParsableCommand {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "start", abstract: "Goes on with a capture that was stopped.")
    }

    @OptionGroup var route: Route
    @Flag(help: "Print JSON.") var json = false

    package init() {}

    package func run() throws {
        var change = CaptureChange()
        change.isCapturing = true
        try StatusText.show(
            try route.answer(to: .change(change)).reply, of: route.sourceName, json: json)
    }
}

/// `stop`: captures nothing until it is started again.
package struct AgentStopCommand<Route: AgentRoute>: ParsableCommand {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "stop",
            abstract: "Stops the capture, until 'start'. Camera and microphone are let go of.",
            discussion: """
                The source stays connected and its recording stays open; the ledger says how long nothing was captured. An \
                agent with a --duration still ends when that is over.
                """
        )
    }

    @OptionGroup var route: Route
    @Flag(help: "Print JSON.") var json = false

    package init() {}

    package func run() throws {
        var change = CaptureChange()
        change.isCapturing = false
        try StatusText.show(
            try route.answer(to: .change(change)).reply, of: route.sourceName, json: json)
    }
}

/// `controls`: what can be set at the camera.
package struct AgentControlsCommand<Route: AgentRoute>: ParsableCommand {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "controls", abstract: "Lists what can be set at the camera.",
            discussion: "They are set with 'set --control NAME=VALUE'.")
    }

    @OptionGroup var route: Route
    @Flag(help: "Print JSON.") var json = false

    package init() {}

    package func run() throws {
        guard case .controls(let controls) = try route.answer(to: .controls).reply else {
            throw Failure("the agent answered with something else: use programs of one version")
        }
        try ControlsText.show(controls, json: json)
    }
}

/// `keyframe`: makes the next picture one.
package struct AgentKeyframeCommand<Route: AgentRoute>: ParsableCommand {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "keyframe", abstract: "Makes the next picture a keyframe.")
    }

    @OptionGroup var route: Route

    package init() {}

    package func run() throws { _ = try route.answer(to: .keyframe) }
}

/// `snapshot`: the next picture as a JPEG.
package struct AgentSnapshotCommand<Route: AgentRoute>: ParsableCommand {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "snapshot",
            abstract: "Writes the next picture as a JPEG, turned as players turn it.")
    }

    @OptionGroup var route: Route

    @Argument(help: "Where to write it: a file that ends in .jpg or .jpeg; - for standard output.")
    var file: String

    @Flag(help: "Replace the file if it is there already.")
    var overwrite = false

    package init() {}

    package func validate() throws {
        let name = file.split(separator: "/").last.map(String.init) ?? file
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return }
        let suffix = name[name.index(after: dot)...].lowercased()
        guard ["jpg", "jpeg"].contains(suffix) else {
            throw ValidationError(
                "'\(oneLine(file))' does not end in .jpg or .jpeg: a snapshot is a JPEG picture")
        }
    }

    package func run() throws {
        try OutputFile.check(file, overwrites: overwrite)
        let (reply, jpeg) = try route.answer(to: .snapshot)
        guard case .snapshot(let snapshot) = reply, jpeg.count == snapshot.sizeBytes else {
            throw Failure("the agent answered with something else: use programs of one version")
        }
        try OutputFile.write(jpeg, to: file, overwrites: overwrite)
        if file != "-" {
            print(
                "\(file): \(snapshot.width)×\(snapshot.height), \(ByteCount(Int64(jpeg.count)))")
        }
    }
}
