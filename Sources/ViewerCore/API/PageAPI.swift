import Archive
import HTTPTypes
import Hummingbird

/// The page for browsers: one HTML file at each of its addresses, and its scripts, styles and icon below `/page`.
///
/// The files are in the program and contain nothing of an archive: they are answered without a log-in, and ask for one.
struct PageAPI {
    /// Addresses that show the page, besides those of sessions.
    private static let addresses: Set<String> = ["/", "/live", "/sessions", "/health"]
    static let folder = "/page/"

    let threads: ReadingThreads

    /// Whether an address belongs to the page, and is answered to everybody.
    static func isOpen(_ path: String) -> Bool {
        addresses.contains(path) || path.hasPrefix(folder) || path.hasPrefix("/sessions/")
    }

    func page(_ request: Request, _ context: ViewerContext) async throws -> Response {
        answer(Self.file("index.html") ?? .missing, request)
    }

    func file(_ request: Request, _ context: ViewerContext) async throws -> Response {
        guard let file = Self.file(context.parameters.get("file") ?? "") else {
            throw Problem(.notFound, "the page has no such file")
        }
        return answer(file, request)
    }

    private func answer(_ file: PageFile, _ request: Request) -> Response {
        FileAnswer(
            file: MemoryFile(bytes: file.bytes), contentType: file.kind.rawValue, tag: file.tag
        ).response(to: request, in: threads)
    }

    private static func file(_ name: String) -> PageFile? { PageFile.all[name] }
}

/// A file of the page.
struct PageFile: Sendable {
    enum Kind: String, Sendable {
        case html = "text/html; charset=utf-8"
        case script = "text/javascript; charset=utf-8"
        case style = "text/css; charset=utf-8"
        case image = "image/svg+xml"
    }

    let bytes: [UInt8]
    let kind: Kind
    /// Changes with the bytes: a browser asks each time, and is told that nothing has changed.
    let tag: String

    static let missing = PageFile([], .html)

    private init(_ bytes: [UInt8], _ kind: Kind) {
        self.bytes = bytes
        self.kind = kind
        tag = Digest(of: bytes).description
    }

    /// By name.
    static let all: [String: PageFile] = [
        "api.js": PageFile(PackageResources.api_js, .script),
        "causes.js": PageFile(PackageResources.causes_js, .script),
        "dark.css": PageFile(PackageResources.dark_css, .style),
        "element.js": PageFile(PackageResources.element_js, .script),
        "events.js": PageFile(PackageResources.events_js, .script),
        "export.js": PageFile(PackageResources.export_js, .script),
        "format.js": PageFile(PackageResources.format_js, .script),
        "health-alerts.js": PageFile(PackageResources.health_alerts_js, .script),
        "health-findings.js": PageFile(PackageResources.health_findings_js, .script),
        "health-history.js": PageFile(PackageResources.health_history_js, .script),
        "health-plot.js": PageFile(PackageResources.health_plot_js, .script),
        "health.css": PageFile(PackageResources.health_css, .style),
        "health.js": PageFile(PackageResources.health_js, .script),
        "icon.svg": PageFile(PackageResources.icon_svg, .image),
        "icons.js": PageFile(PackageResources.icons_js, .script),
        "index.html": PageFile(PackageResources.index_html, .html),
        "keys.js": PageFile(PackageResources.keys_js, .script),
        "live-choice.js": PageFile(PackageResources.live_choice_js, .script),
        "live-clock.js": PageFile(PackageResources.live_clock_js, .script),
        "live-commands.js": PageFile(PackageResources.live_commands_js, .script),
        "live-connection.js": PageFile(PackageResources.live_connection_js, .script),
        "live-follower.js": PageFile(PackageResources.live_follower_js, .script),
        "live-frames.js": PageFile(PackageResources.live_frames_js, .script),
        "live-grid.js": PageFile(PackageResources.live_grid_js, .script),
        "live-missing.js": PageFile(PackageResources.live_missing_js, .script),
        "live-painter.js": PageFile(PackageResources.live_painter_js, .script),
        "live-samples.js": PageFile(PackageResources.live_samples_js, .script),
        "live-sound.js": PageFile(PackageResources.live_sound_js, .script),
        "live-thrift.js": PageFile(PackageResources.live_thrift_js, .script),
        "live-tile.js": PageFile(PackageResources.live_tile_js, .script),
        "live-toolbar.js": PageFile(PackageResources.live_toolbar_js, .script),
        "live-wall.js": PageFile(PackageResources.live_wall_js, .script),
        "live.css": PageFile(PackageResources.live_css, .style),
        "live.js": PageFile(PackageResources.live_js, .script),
        "login.js": PageFile(PackageResources.login_js, .script),
        "main.js": PageFile(PackageResources.main_js, .script),
        "media-buffer.js": PageFile(PackageResources.media_buffer_js, .script),
        "movie-tracks.js": PageFile(PackageResources.movie_tracks_js, .script),
        "page.css": PageFile(PackageResources.page_css, .style),
        "playback-address.js": PageFile(PackageResources.playback_address_js, .script),
        "playback-boxes.js": PageFile(PackageResources.playback_boxes_js, .script),
        "playback-choice.js": PageFile(PackageResources.playback_choice_js, .script),
        "playback-clock.js": PageFile(PackageResources.playback_clock_js, .script),
        "playback-controls.js": PageFile(PackageResources.playback_controls_js, .script),
        "playback-coverage.js": PageFile(PackageResources.playback_coverage_js, .script),
        "playback-follow.js": PageFile(PackageResources.playback_follow_js, .script),
        "playback-icons.js": PageFile(PackageResources.playback_icons_js, .script),
        "playback-index.js": PageFile(PackageResources.playback_index_js, .script),
        "playback-keys.js": PageFile(PackageResources.playback_keys_js, .script),
        "playback-media.js": PageFile(PackageResources.playback_media_js, .script),
        "playback-player.js": PageFile(PackageResources.playback_player_js, .script),
        "playback-samples.js": PageFile(PackageResources.playback_samples_js, .script),
        "playback-sound.js": PageFile(PackageResources.playback_sound_js, .script),
        "playback-tile.js": PageFile(PackageResources.playback_tile_js, .script),
        "playback.css": PageFile(PackageResources.playback_css, .style),
        "playback.js": PageFile(PackageResources.playback_js, .script),
        "sessions-details.js": PageFile(PackageResources.sessions_details_js, .script),
        "sessions-edit.js": PageFile(PackageResources.sessions_edit_js, .script),
        "sessions-item.js": PageFile(PackageResources.sessions_item_js, .script),
        "sessions-list.js": PageFile(PackageResources.sessions_list_js, .script),
        "sessions-search.js": PageFile(PackageResources.sessions_search_js, .script),
        "sessions.css": PageFile(PackageResources.sessions_css, .style),
        "sessions.js": PageFile(PackageResources.sessions_js, .script),
        "shell.js": PageFile(PackageResources.shell_js, .script),
        "theme.js": PageFile(PackageResources.theme_js, .script),
        "timeline-draw.js": PageFile(PackageResources.timeline_draw_js, .script),
        "timeline-hover.js": PageFile(PackageResources.timeline_hover_js, .script),
        "timeline-scale.js": PageFile(PackageResources.timeline_scale_js, .script),
        "timeline.js": PageFile(PackageResources.timeline_js, .script),
    ]
}
