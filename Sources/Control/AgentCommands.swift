package import ArgumentParser
import Files
import Glibc
import Media
import Terminal
import Wire

/// The agent commands, for any ``AgentRoute``.
package enum AgentCommands {
    package static func all<Route: AgentRoute>(
        by route: Route.Type
    ) -> [any ParsableCommand.Type] {
        AgentCommandName.allCases.map { name in
            switch name {
            case .status: AgentStatusCommand<Route>.self
            case .set: AgentSetCommand<Route>.self
            case .start: AgentStartCommand<Route>.self
            case .stop: AgentStopCommand<Route>.self
            case .controls: AgentControlsCommand<Route>.self
            case .keyframe: AgentKeyframeCommand<Route>.self
            case .snapshot: AgentSnapshotCommand<Route>.self
            }
        }
    }

    /// Moves the command to the front, where the parser expects it: `stage status` and `--archive X stage status`
    /// become `status stage …`.
    ///
    /// - Parameters:
    ///   - words: the arguments after the name of the program or of its command.
    ///   - valueOptions: options with a value that may precede the command, without dashes.
    package static func arranged(
        _ words: [String], valueOptions: Set<String>
    ) -> [String] {
        if words.first == "help" { return words }
        let places = plainWords(words, valueOptions).prefix(2)
        // A source may have the name of a command: then the second word is the command.
        guard let found = places.last(where: { names.contains(words[$0]) }) else { return words }
        var words = words
        words.insert(words.remove(at: found), at: 0)
        return words
    }

    /// The error for arguments without a command, in one line; nil if there is a command, no argument, or a request for help.
    ///
    /// - Parameters:
    ///   - words: as for ``arranged(_:valueOptions:)``.
    ///   - isSourceNamed: whether a source's name precedes the command.
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
            let list = names.dropLast().joined(separator: ", ") + " or " + (names.last ?? "")
            return "no command for '\(first)': use \(list) after its name"
        }
        let unknown = isSourceNamed ? plain[1] : first
        return "there is no command '\(unknown)': \(suggestion(for: unknown, among: names))"
    }

    /// Indices of arguments that are neither options nor their values.
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

    private static let names = AgentCommandName.allCases.map(\.rawValue)
}

extension CommandConfiguration {
    fileprivate init(_ name: AgentCommandName, abstract: String, discussion: String = "") {
        self.init(commandName: name.rawValue, abstract: abstract, discussion: discussion)
    }
}

/// `status`: shows the capture settings and state.
package struct AgentStatusCommand<Route: AgentRoute>: ParsableCommand {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(.status, abstract: "Shows what the agent captures, and its status.")
    }

    @OptionGroup var route: Route
    @Flag(help: "Print JSON.") var json = false

    package init() {}

    package func run() throws {
        try StatusText.show(try route.answer(to: .status).reply, of: route.sourceName, json: json)
    }
}

/// `set`: changes settings while capturing.
package struct AgentSetCommand<Route: AgentRoute>: ParsableCommand, ExplicitCommand {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            .set, abstract: "Changes the capture; all changes are applied, or none.",
            discussion: """
                Recording continues on the same timeline; a new size or format starts a new file. Bitrate, rotation and controls \
                change at the next picture. A new camera, microphone, size, frame rate or crop takes until the device is open, and \
                the time without media is recorded as a gap. A media file starts from its beginning.
                """)
    }

    package static var environmentOptions: Set<String> { Route.optionNames }

    @OptionGroup var route: Route

    @Option(help: "New video source, as for the agent's --video.")
    var video: String?

    @Option(help: "New audio source, as for the agent's --audio.")
    var audio: String?

    @Option(help: "Frame size, such as 1280x720, or own for the size of the source.")
    var size: OwnOr<PictureSize>?

    @Option(help: "Frame rate in frames per second, or own for the rate of the source.")
    var fps: OwnOr<FrameRate>?

    @Option(help: "Average video bitrate.")
    var videoBitrate: Bitrate?

    @Option(
        help: "Crop rectangle, WIDTHxHEIGHT+X+Y, all numbers even; own for no cropping.")
    var crop: OwnOr<PictureCrop>?

    @Option(help: "Display rotation, clockwise: 0, 90, 180 or 270 degrees.")
    var rotate: PictureOrientation.Rotation?

    @Option(help: "Mirror the display horizontally, before rotation: on or off.")
    var mirror: OnOff?

    @Option(
        name: .customLong("control"),
        help: ArgumentHelp(
            "Camera control, such as brightness=128 or focus_auto=off. Repeatable.",
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
            throw UsageError("nothing to change: give an option such as --video-bitrate 2M")
        }
        try StatusText.show(
            try route.answer(to: .change(change)).reply, of: route.sourceName, json: json)
    }
}

/// `start`: resumes capture.
package struct AgentStartCommand<Route: AgentRoute>: ParsableCommand {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(.start, abstract: "Resumes a stopped capture.")
    }

    @OptionGroup var route: Route
    @Flag(help: "Print JSON.") var json = false

    package init() {}

    package func run() throws {
        let request = CommandRequest.change(CaptureChange(isCapturing: true))
        try StatusText.show(try route.answer(to: request).reply, of: route.sourceName, json: json)
    }
}

/// `stop`: pauses capture until it is started again.
package struct AgentStopCommand<Route: AgentRoute>: ParsableCommand {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            .stop, abstract: "Stops the capture until 'start', and releases camera and microphone.",
            discussion: """
                The source stays connected and its recording stays open; the time without media is recorded as a gap. An agent \
                with a --duration still ends on time.
                """
        )
    }

    @OptionGroup var route: Route
    @Flag(help: "Print JSON.") var json = false

    package init() {}

    package func run() throws {
        let request = CommandRequest.change(CaptureChange(isCapturing: false))
        try StatusText.show(try route.answer(to: request).reply, of: route.sourceName, json: json)
    }
}

/// `controls`: lists the camera's controls.
package struct AgentControlsCommand<Route: AgentRoute>: ParsableCommand {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            .controls, abstract: "Lists the controls of the camera.",
            discussion: "Use 'set --control NAME=VALUE' to set them.")
    }

    @OptionGroup var route: Route
    @Flag(help: "Print JSON.") var json = false

    package init() {}

    package func run() throws {
        guard case .controls(let controls) = try route.answer(to: .controls).reply else {
            throw Failure("unexpected answer from the agent: use the same version of all programs")
        }
        try ControlsText.show(controls, json: json)
    }
}

/// `keyframe`: makes the next picture a keyframe.
package struct AgentKeyframeCommand<Route: AgentRoute>: ParsableCommand {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(.keyframe, abstract: "Makes the next picture a keyframe.")
    }

    @OptionGroup var route: Route

    package init() {}

    package func run() throws { _ = try route.answer(to: .keyframe) }
}

/// `snapshot`: saves the next picture as a JPEG.
package struct AgentSnapshotCommand<Route: AgentRoute>: ParsableCommand {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            .snapshot,
            abstract: "Writes the next picture as a JPEG, with rotation and mirroring applied.")
    }

    @OptionGroup var route: Route

    @Argument(help: "Output file with the suffix .jpg or .jpeg; - for standard output.")
    var file: String

    @Flag(help: "Overwrite an existing file.")
    var overwrite = false

    package init() {}

    package func validate() throws {
        let name = Path.name(of: file)
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return }
        let suffix = name[name.index(after: dot)...].lowercased()
        guard ["jpg", "jpeg"].contains(suffix) else {
            throw ValidationError(
                "'\(oneLine(file))' is not a JPEG file name: use the suffix .jpg or .jpeg")
        }
    }

    package func run() throws {
        try CommandOutputFile.check(file, overwrites: overwrite)
        let (reply, jpeg) = try route.answer(to: .snapshot)
        guard case .snapshot(let snapshot) = reply, jpeg.count == snapshot.sizeBytes else {
            throw Failure("unexpected answer from the agent: use the same version of all programs")
        }
        try CommandOutputFile.write(jpeg, to: file, overwrites: overwrite)
        if file != "-" {
            print(
                "\(file): \(snapshot.width)×\(snapshot.height), \(ByteCount(Int64(jpeg.count)))")
        }
    }
}
