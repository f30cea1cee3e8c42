#!/usr/bin/env bash
# Installs Chromium and its driver where they are missing and it can, or says in one line what to install.
any() { for name; do command -v "$name" >/dev/null && return; done; return 1; }
ready() { any chromium chromium-browser google-chrome && any chromedriver; }

ready && exit
if [ "$(id -u)" = 0 ] && any apt-get; then
  { apt-get update && apt-get install -y chromium chromium-driver; } >/dev/null 2>&1
  ready && exit
fi
echo "The browser tests need Chromium and its driver; on Debian: apt-get install chromium chromium-driver" >&2
exit 1
