"""Filters for what is expected of a waiting job."""

from django import template

from console.overview.starting import between_words, chance_words, sooner_words, starts_words

register = template.Library()
register.filter("starts_in", starts_words)
register.filter("starts_between", between_words)
register.filter("hundredths", chance_words)
register.filter("sooner_words", sooner_words)
