// FFmpeg's headers, and constants for the macros that Swift cannot import. The constants are prefixed.
#ifndef TRIBUTARY_CFFMPEG_SHIM_H
#define TRIBUTARY_CFFMPEG_SHIM_H

#include <errno.h>
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/channel_layout.h>
#include <libavutil/hwcontext.h>
#include <libavutil/imgutils.h>
#include <libavutil/log.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <libswresample/swresample.h>
#include <libswscale/swscale.h>

static const int64_t CFFmpeg_NOPTS_VALUE = AV_NOPTS_VALUE;
static const int CFFmpeg_ERROR_EOF = AVERROR_EOF;
static const int CFFmpeg_ERROR_EAGAIN = AVERROR(EAGAIN);
static const int CFFmpeg_ERROR_ENOENT = AVERROR(ENOENT);
static const int CFFmpeg_ERROR_EACCES = AVERROR(EACCES);
static const int CFFmpeg_ERROR_EXIT = AVERROR_EXIT;
static const int CFFmpeg_ERROR_INVALIDDATA = AVERROR_INVALIDDATA;
static const int CFFmpeg_CODEC_FLAG_GLOBAL_HEADER = AV_CODEC_FLAG_GLOBAL_HEADER;
static const int CFFmpeg_INPUT_BUFFER_PADDING_SIZE = AV_INPUT_BUFFER_PADDING_SIZE;

#endif
