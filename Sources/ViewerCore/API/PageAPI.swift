import HTTPTypes
import Hummingbird

/// The page for browsers: one HTML file at each of its addresses, and its scripts, styles and icon below `/page`.
///
/// The files are in the program and contain nothing of an archive: they are answered without a log-in, and ask for one.
struct PageAPI {
    /// Addresses that show the page, besides those of sessions.
    private static let addresses: Set<String> = ["/", "/live", "/sessions", "/health"]
    private static let folder = "/page/"

    let threads: ReadingThreads

    init(threads: ReadingThreads) {
        self.threads = threads
        // Compressed now, and not while the first reader waits.
        _ = PageDocument.files
    }

    /// Whether an address belongs to the page, and is answered to everybody.
    static func isOpen(_ path: String) -> Bool {
        addresses.contains(path) || path.hasPrefix(folder) || path.hasPrefix("/sessions/")
    }

    func page(_ request: Request, _ context: ViewerContext) async throws -> Response {
        try answer(PageDocument.files[PageDocument(path: request.uri.path)], request)
    }

    func file(_ request: Request, _ context: ViewerContext) async throws -> Response {
        try answer(PageFile.all[context.parameters.get("file") ?? ""], request)
    }

    private func answer(_ file: StaticFile?, _ request: Request) throws(Problem) -> Response {
        guard let file else { throw Problem(.notFound, "the page has no such file") }
        return file.response(to: request, in: threads)
    }
}

/// The files of the page.
enum PageFile {
    enum Kind: String, Sendable {
        case html = "text/html; charset=utf-8"
        case script = "text/javascript; charset=utf-8"
        case style = "text/css; charset=utf-8"
        case image = "image/svg+xml"
    }

    private static func file(_ bytes: [UInt8], _ kind: Kind) -> StaticFile {
        StaticFile(bytes, contentType: kind.rawValue)
    }

    /// By name.
    static let all: [String: StaticFile] = [
        "api.js": file(PackageResources.api_js, .script),
        "causes.js": file(PackageResources.causes_js, .script),
        "dark.css": file(PackageResources.dark_css, .style),
        "dialog.js": file(PackageResources.dialog_js, .script),
        "disk-words.js": file(PackageResources.disk_words_js, .script),
        "element.js": file(PackageResources.element_js, .script),
        "events.js": file(PackageResources.events_js, .script),
        "export.js": file(PackageResources.export_js, .script),
        "form-dialog.js": file(PackageResources.form_dialog_js, .script),
        "format.js": file(PackageResources.format_js, .script),
        "health-alerts.js": file(PackageResources.health_alerts_js, .script),
        "health-findings.js": file(PackageResources.health_findings_js, .script),
        "health-history.js": file(PackageResources.health_history_js, .script),
        "health-plot.js": file(PackageResources.health_plot_js, .script),
        "health.css": file(PackageResources.health_css, .style),
        "health.js": file(PackageResources.health_js, .script),
        "icon.svg": file(PackageResources.icon_svg, .image),
        "icons.js": file(PackageResources.icons_js, .script),
        "index.html": file(PackageResources.index_html, .html),
        "keys.js": file(PackageResources.keys_js, .script),
        "live-choice.js": file(PackageResources.live_choice_js, .script),
        "live-clock.js": file(PackageResources.live_clock_js, .script),
        "live-commands.js": file(PackageResources.live_commands_js, .script),
        "live-connection.js": file(PackageResources.live_connection_js, .script),
        "live-follower.js": file(PackageResources.live_follower_js, .script),
        "live-frames.js": file(PackageResources.live_frames_js, .script),
        "live-grid.js": file(PackageResources.live_grid_js, .script),
        "live-missing.js": file(PackageResources.live_missing_js, .script),
        "live-painter.js": file(PackageResources.live_painter_js, .script),
        "live-recorded.js": file(PackageResources.live_recorded_js, .script),
        "live-samples.js": file(PackageResources.live_samples_js, .script),
        "live-sound.js": file(PackageResources.live_sound_js, .script),
        "live-thrift.js": file(PackageResources.live_thrift_js, .script),
        "live-tile.js": file(PackageResources.live_tile_js, .script),
        "live-toolbar.js": file(PackageResources.live_toolbar_js, .script),
        "live-wall.js": file(PackageResources.live_wall_js, .script),
        "live.css": file(PackageResources.live_css, .style),
        "live.js": file(PackageResources.live_js, .script),
        "login.js": file(PackageResources.login_js, .script),
        "main.js": file(PackageResources.main_js, .script),
        "media-buffer.js": file(PackageResources.media_buffer_js, .script),
        "movie-tracks.js": file(PackageResources.movie_tracks_js, .script),
        "page.css": file(PackageResources.page_css, .style),
        "playback-address.js": file(PackageResources.playback_address_js, .script),
        "playback-boxes.js": file(PackageResources.playback_boxes_js, .script),
        "playback-choice.js": file(PackageResources.playback_choice_js, .script),
        "playback-clock.js": file(PackageResources.playback_clock_js, .script),
        "playback-controls.js": file(PackageResources.playback_controls_js, .script),
        "playback-coverage.js": file(PackageResources.playback_coverage_js, .script),
        "playback-follow.js": file(PackageResources.playback_follow_js, .script),
        "playback-index.js": file(PackageResources.playback_index_js, .script),
        "playback-marks.js": file(PackageResources.playback_marks_js, .script),
        "playback-media.js": file(PackageResources.playback_media_js, .script),
        "playback-missing.js": file(PackageResources.playback_missing_js, .script),
        "playback-player.js": file(PackageResources.playback_player_js, .script),
        "playback-samples.js": file(PackageResources.playback_samples_js, .script),
        "playback-sound.js": file(PackageResources.playback_sound_js, .script),
        "playback-tile.js": file(PackageResources.playback_tile_js, .script),
        "playback.css": file(PackageResources.playback_css, .style),
        "playback.js": file(PackageResources.playback_js, .script),
        "sessions-details.js": file(PackageResources.sessions_details_js, .script),
        "sessions-edit.js": file(PackageResources.sessions_edit_js, .script),
        "sessions-item.js": file(PackageResources.sessions_item_js, .script),
        "sessions-list.js": file(PackageResources.sessions_list_js, .script),
        "sessions-search.js": file(PackageResources.sessions_search_js, .script),
        "sessions.css": file(PackageResources.sessions_css, .style),
        "sessions.js": file(PackageResources.sessions_js, .script),
        "shell.js": file(PackageResources.shell_js, .script),
        "theme.js": file(PackageResources.theme_js, .script),
        "timeline-draw.js": file(PackageResources.timeline_draw_js, .script),
        "timeline-hover.js": file(PackageResources.timeline_hover_js, .script),
        "timeline-scale.js": file(PackageResources.timeline_scale_js, .script),
        "timeline.js": file(PackageResources.timeline_js, .script),
    ]
}
