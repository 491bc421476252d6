#include "CViewerPage.h"

// C23 `#embed`: the compiler copies a file's bytes, and notes the file as a dependency. As array literals in Swift, the same files took
// minutes to compile. Folders are for readers: names are unique, and
// addresses have none. A test compares this list with the folders.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char account_css[] = {
#embed "page/account/account.css"
};
static const unsigned char account_js[] = {
#embed "page/account/account.js"
};
static const unsigned char api_js[] = {
#embed "page/common/api.js"
};
static const unsigned char boxes_js[] = {
#embed "page/media/boxes.js"
};
static const unsigned char calendar_css[] = {
#embed "page/calendar/calendar.css"
};
static const unsigned char calendar_js[] = {
#embed "page/calendar/calendar.js"
};
static const unsigned char causes_js[] = {
#embed "page/common/causes.js"
};
static const unsigned char codecs_js[] = {
#embed "page/media/codecs.js"
};
static const unsigned char dark_css[] = {
#embed "page/common/dark.css"
};
static const unsigned char dialog_js[] = {
#embed "page/common/dialog.js"
};
static const unsigned char disk_words_js[] = {
#embed "page/health/disk-words.js"
};
static const unsigned char element_js[] = {
#embed "page/common/element.js"
};
static const unsigned char embed_css[] = {
#embed "page/embed/embed.css"
};
static const unsigned char embed_html[] = {
#embed "page/embed/embed.html"
};
static const unsigned char embed_js[] = {
#embed "page/embed/embed.js"
};
static const unsigned char events_js[] = {
#embed "page/common/events.js"
};
static const unsigned char export_js[] = {
#embed "page/playback/export.js"
};
static const unsigned char form_dialog_js[] = {
#embed "page/common/form-dialog.js"
};
static const unsigned char format_js[] = {
#embed "page/common/format.js"
};
static const unsigned char health_alerts_js[] = {
#embed "page/health/health-alerts.js"
};
static const unsigned char health_collectors_js[] = {
#embed "page/health/health-collectors.js"
};
static const unsigned char health_findings_js[] = {
#embed "page/health/health-findings.js"
};
static const unsigned char health_history_js[] = {
#embed "page/health/health-history.js"
};
static const unsigned char health_plot_js[] = {
#embed "page/health/health-plot.js"
};
static const unsigned char health_css[] = {
#embed "page/health/health.css"
};
static const unsigned char health_js[] = {
#embed "page/health/health.js"
};
static const unsigned char icon_svg[] = {
#embed "page/common/icon.svg"
};
static const unsigned char icons_js[] = {
#embed "page/common/icons.js"
};
static const unsigned char index_html[] = {
#embed "page/common/index.html"
};
static const unsigned char keys_js[] = {
#embed "page/common/keys.js"
};
static const unsigned char level_bar_js[] = {
#embed "page/media/level-bar.js"
};
static const unsigned char limits_js[] = {
#embed "page/common/limits.js"
};
static const unsigned char live_choice_js[] = {
#embed "page/live/live-choice.js"
};
static const unsigned char live_clock_js[] = {
#embed "page/live/live-clock.js"
};
static const unsigned char live_commands_js[] = {
#embed "page/live/live-commands.js"
};
static const unsigned char live_connection_js[] = {
#embed "page/live/live-connection.js"
};
static const unsigned char live_follower_js[] = {
#embed "page/live/live-follower.js"
};
static const unsigned char live_frames_js[] = {
#embed "page/live/live-frames.js"
};
static const unsigned char live_grid_js[] = {
#embed "page/live/live-grid.js"
};
static const unsigned char live_level_js[] = {
#embed "page/live/live-level.js"
};
static const unsigned char live_missing_js[] = {
#embed "page/live/live-missing.js"
};
static const unsigned char live_pages_js[] = {
#embed "page/live/live-pages.js"
};
static const unsigned char live_painter_js[] = {
#embed "page/live/live-painter.js"
};
static const unsigned char live_place_js[] = {
#embed "page/live/live-collector.js"
};
static const unsigned char live_recorded_js[] = {
#embed "page/live/live-recorded.js"
};
static const unsigned char live_renditions_js[] = {
#embed "page/live/live-renditions.js"
};
static const unsigned char live_samples_js[] = {
#embed "page/live/live-samples.js"
};
static const unsigned char live_sound_js[] = {
#embed "page/live/live-sound.js"
};
static const unsigned char live_step_js[] = {
#embed "page/live/live-step.js"
};
static const unsigned char live_thrift_js[] = {
#embed "page/live/live-load.js"
};
static const unsigned char live_tile_js[] = {
#embed "page/live/live-tile.js"
};
static const unsigned char live_toolbar_js[] = {
#embed "page/live/live-toolbar.js"
};
static const unsigned char live_wall_js[] = {
#embed "page/live/live-wall.js"
};
static const unsigned char live_walls_js[] = {
#embed "page/live/live-walls.js"
};
static const unsigned char live_css[] = {
#embed "page/live/live.css"
};
static const unsigned char live_js[] = {
#embed "page/live/live.js"
};
static const unsigned char login_js[] = {
#embed "page/account/login.js"
};
static const unsigned char main_js[] = {
#embed "page/common/main.js"
};
static const unsigned char media_buffer_js[] = {
#embed "page/media/media-buffer.js"
};
static const unsigned char movie_tracks_js[] = {
#embed "page/media/movie-tracks.js"
};
static const unsigned char page_css[] = {
#embed "page/common/page.css"
};
static const unsigned char picture_zoom_js[] = {
#embed "page/media/picture-zoom.js"
};
static const unsigned char playback_address_js[] = {
#embed "page/playback/playback-address.js"
};
static const unsigned char playback_boxes_js[] = {
#embed "page/playback/playback-boxes.js"
};
static const unsigned char playback_choice_js[] = {
#embed "page/playback/playback-choice.js"
};
static const unsigned char playback_clock_js[] = {
#embed "page/playback/playback-clock.js"
};
static const unsigned char playback_controls_js[] = {
#embed "page/playback/playback-controls.js"
};
static const unsigned char playback_coverage_js[] = {
#embed "page/playback/playback-coverage.js"
};
static const unsigned char playback_follow_js[] = {
#embed "page/playback/playback-follow.js"
};
static const unsigned char playback_index_js[] = {
#embed "page/playback/playback-index.js"
};
static const unsigned char playback_level_js[] = {
#embed "page/playback/playback-level.js"
};
static const unsigned char playback_marks_js[] = {
#embed "page/playback/playback-marks.js"
};
static const unsigned char playback_media_js[] = {
#embed "page/playback/playback-media.js"
};
static const unsigned char playback_missing_js[] = {
#embed "page/playback/playback-missing.js"
};
static const unsigned char playback_picture_js[] = {
#embed "page/playback/playback-picture.js"
};
static const unsigned char playback_player_js[] = {
#embed "page/playback/playback-player.js"
};
static const unsigned char playback_samples_js[] = {
#embed "page/playback/playback-samples.js"
};
static const unsigned char playback_sound_js[] = {
#embed "page/playback/playback-sound.js"
};
static const unsigned char playback_tile_js[] = {
#embed "page/playback/playback-tile.js"
};
static const unsigned char playback_css[] = {
#embed "page/playback/playback.css"
};
static const unsigned char playback_js[] = {
#embed "page/playback/playback.js"
};
static const unsigned char renditions_js[] = {
#embed "page/media/renditions.js"
};
static const unsigned char session_name_js[] = {
#embed "page/common/session-name.js"
};
static const unsigned char sessions_day_js[] = {
#embed "page/sessions/sessions-day.js"
};
static const unsigned char sessions_details_js[] = {
#embed "page/sessions/sessions-details.js"
};
static const unsigned char sessions_edit_js[] = {
#embed "page/sessions/sessions-edit.js"
};
static const unsigned char sessions_item_js[] = {
#embed "page/sessions/sessions-item.js"
};
static const unsigned char sessions_list_js[] = {
#embed "page/sessions/sessions-list.js"
};
static const unsigned char sessions_search_js[] = {
#embed "page/sessions/sessions-search.js"
};
static const unsigned char sessions_css[] = {
#embed "page/sessions/sessions.css"
};
static const unsigned char sessions_js[] = {
#embed "page/sessions/sessions.js"
};
static const unsigned char shell_js[] = {
#embed "page/common/shell.js"
};
static const unsigned char sound_track_js[] = {
#embed "page/media/sound-track.js"
};
static const unsigned char still_pictures_js[] = {
#embed "page/media/still-pictures.js"
};
static const unsigned char theme_js[] = {
#embed "page/common/theme.js"
};
static const unsigned char timeline_collectors_js[] = {
#embed "page/timeline/timeline-collectors.js"
};
static const unsigned char timeline_draw_js[] = {
#embed "page/timeline/timeline-draw.js"
};
static const unsigned char timeline_hover_js[] = {
#embed "page/timeline/timeline-hover.js"
};
static const unsigned char timeline_scale_js[] = {
#embed "page/timeline/timeline-scale.js"
};
static const unsigned char timeline_js[] = {
#embed "page/timeline/timeline.js"
};
static const unsigned char toolbar_fold_js[] = {
#embed "page/common/toolbar-fold.js"
};
static const unsigned char zone_js[] = {
#embed "page/common/zone.js"
};

static const unsigned char openapi_yaml[] = {
#embed "../../proto/openapi.yaml"
};

#define FILE_ENTRY(name, bytes) { name, bytes, sizeof bytes }

static const struct CViewerPageFile files[] = {
    FILE_ENTRY("account.css", account_css),
    FILE_ENTRY("account.js", account_js),
    FILE_ENTRY("api.js", api_js),
    FILE_ENTRY("boxes.js", boxes_js),
    FILE_ENTRY("calendar.css", calendar_css),
    FILE_ENTRY("calendar.js", calendar_js),
    FILE_ENTRY("causes.js", causes_js),
    FILE_ENTRY("codecs.js", codecs_js),
    FILE_ENTRY("dark.css", dark_css),
    FILE_ENTRY("dialog.js", dialog_js),
    FILE_ENTRY("disk-words.js", disk_words_js),
    FILE_ENTRY("element.js", element_js),
    FILE_ENTRY("embed.css", embed_css),
    FILE_ENTRY("embed.html", embed_html),
    FILE_ENTRY("embed.js", embed_js),
    FILE_ENTRY("events.js", events_js),
    FILE_ENTRY("export.js", export_js),
    FILE_ENTRY("form-dialog.js", form_dialog_js),
    FILE_ENTRY("format.js", format_js),
    FILE_ENTRY("health-alerts.js", health_alerts_js),
    FILE_ENTRY("health-collectors.js", health_collectors_js),
    FILE_ENTRY("health-findings.js", health_findings_js),
    FILE_ENTRY("health-history.js", health_history_js),
    FILE_ENTRY("health-plot.js", health_plot_js),
    FILE_ENTRY("health.css", health_css),
    FILE_ENTRY("health.js", health_js),
    FILE_ENTRY("icon.svg", icon_svg),
    FILE_ENTRY("icons.js", icons_js),
    FILE_ENTRY("index.html", index_html),
    FILE_ENTRY("keys.js", keys_js),
    FILE_ENTRY("level-bar.js", level_bar_js),
    FILE_ENTRY("limits.js", limits_js),
    FILE_ENTRY("live-choice.js", live_choice_js),
    FILE_ENTRY("live-clock.js", live_clock_js),
    FILE_ENTRY("live-commands.js", live_commands_js),
    FILE_ENTRY("live-connection.js", live_connection_js),
    FILE_ENTRY("live-follower.js", live_follower_js),
    FILE_ENTRY("live-frames.js", live_frames_js),
    FILE_ENTRY("live-grid.js", live_grid_js),
    FILE_ENTRY("live-level.js", live_level_js),
    FILE_ENTRY("live-missing.js", live_missing_js),
    FILE_ENTRY("live-pages.js", live_pages_js),
    FILE_ENTRY("live-painter.js", live_painter_js),
    FILE_ENTRY("live-collector.js", live_place_js),
    FILE_ENTRY("live-recorded.js", live_recorded_js),
    FILE_ENTRY("live-renditions.js", live_renditions_js),
    FILE_ENTRY("live-samples.js", live_samples_js),
    FILE_ENTRY("live-sound.js", live_sound_js),
    FILE_ENTRY("live-step.js", live_step_js),
    FILE_ENTRY("live-load.js", live_thrift_js),
    FILE_ENTRY("live-tile.js", live_tile_js),
    FILE_ENTRY("live-toolbar.js", live_toolbar_js),
    FILE_ENTRY("live-wall.js", live_wall_js),
    FILE_ENTRY("live-walls.js", live_walls_js),
    FILE_ENTRY("live.css", live_css),
    FILE_ENTRY("live.js", live_js),
    FILE_ENTRY("login.js", login_js),
    FILE_ENTRY("main.js", main_js),
    FILE_ENTRY("media-buffer.js", media_buffer_js),
    FILE_ENTRY("movie-tracks.js", movie_tracks_js),
    FILE_ENTRY("page.css", page_css),
    FILE_ENTRY("picture-zoom.js", picture_zoom_js),
    FILE_ENTRY("playback-address.js", playback_address_js),
    FILE_ENTRY("playback-boxes.js", playback_boxes_js),
    FILE_ENTRY("playback-choice.js", playback_choice_js),
    FILE_ENTRY("playback-clock.js", playback_clock_js),
    FILE_ENTRY("playback-controls.js", playback_controls_js),
    FILE_ENTRY("playback-coverage.js", playback_coverage_js),
    FILE_ENTRY("playback-follow.js", playback_follow_js),
    FILE_ENTRY("playback-index.js", playback_index_js),
    FILE_ENTRY("playback-level.js", playback_level_js),
    FILE_ENTRY("playback-marks.js", playback_marks_js),
    FILE_ENTRY("playback-media.js", playback_media_js),
    FILE_ENTRY("playback-missing.js", playback_missing_js),
    FILE_ENTRY("playback-picture.js", playback_picture_js),
    FILE_ENTRY("playback-player.js", playback_player_js),
    FILE_ENTRY("playback-samples.js", playback_samples_js),
    FILE_ENTRY("playback-sound.js", playback_sound_js),
    FILE_ENTRY("playback-tile.js", playback_tile_js),
    FILE_ENTRY("playback.css", playback_css),
    FILE_ENTRY("playback.js", playback_js),
    FILE_ENTRY("renditions.js", renditions_js),
    FILE_ENTRY("session-name.js", session_name_js),
    FILE_ENTRY("sessions-day.js", sessions_day_js),
    FILE_ENTRY("sessions-details.js", sessions_details_js),
    FILE_ENTRY("sessions-edit.js", sessions_edit_js),
    FILE_ENTRY("sessions-item.js", sessions_item_js),
    FILE_ENTRY("sessions-list.js", sessions_list_js),
    FILE_ENTRY("sessions-search.js", sessions_search_js),
    FILE_ENTRY("sessions.css", sessions_css),
    FILE_ENTRY("sessions.js", sessions_js),
    FILE_ENTRY("shell.js", shell_js),
    FILE_ENTRY("sound-track.js", sound_track_js),
    FILE_ENTRY("still-pictures.js", still_pictures_js),
    FILE_ENTRY("theme.js", theme_js),
    FILE_ENTRY("timeline-collectors.js", timeline_collectors_js),
    FILE_ENTRY("timeline-draw.js", timeline_draw_js),
    FILE_ENTRY("timeline-hover.js", timeline_hover_js),
    FILE_ENTRY("timeline-scale.js", timeline_scale_js),
    FILE_ENTRY("timeline.js", timeline_js),
    FILE_ENTRY("toolbar-fold.js", toolbar_fold_js),
    FILE_ENTRY("zone.js", zone_js),
};

const struct CViewerPageFile *CViewerPage_files(void) { return files; }

size_t CViewerPage_count(void) { return sizeof files / sizeof files[0]; }

struct CViewerPageFile CViewerPage_openapi(void) {
    return (struct CViewerPageFile)FILE_ENTRY("openapi.yaml", openapi_yaml);
}
